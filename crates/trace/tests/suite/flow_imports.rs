//! Modules of `flow` import each other in one direction: a newcomer reads them from the bottom up, and a
//! packet passes them once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Imports = BTreeMap<String, BTreeSet<String>>;

/// Names after each occurrence of `prefix` in the imports of a source file.
fn imported(text: &str, prefix: &str) -> Vec<String> {
    let uses = text.lines().map(|line| line.trim_start().trim_start_matches("pub ")).filter(|line| line.starts_with("use "));
    let after = uses.filter_map(|line| line.strip_prefix("use ")?.strip_prefix(prefix).map(str::to_owned));
    after.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

/// Adds what the sources below `folder`, `depth` levels below `flow`, import for the module `name`.
fn add(imports: &mut Imports, folder: &Path, name: Option<&str>, depth: usize) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let stem = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = name.unwrap_or(&stem).to_owned();
        if entry.is_dir() {
            add(imports, &entry, Some(&module), depth + 1);
        } else if depth > 0 || stem != "mod" {
            let text = fs::read_to_string(&entry).unwrap();
            // `super` is the folder in its mod.rs, and the parent of a file's module elsewhere.
            let ups = if stem == "mod" { depth } else { depth + 1 };
            let found = [imported(&text, &"super::".repeat(ups)), imported(&text, "crate::flow::")].concat();
            imports.entry(module).or_default().extend(found.into_iter().filter(|other| other != "super"));
        }
    }
}

/// A module that imports itself by others, if there is one.
fn cycle(imports: &Imports) -> Option<String> {
    let mut left: BTreeSet<&String> = imports.keys().collect();
    while let Some(&free) = left.iter().find(|name| imports[**name].iter().all(|other| other == **name || !left.contains(other)))
    {
        left.remove(free);
    }
    left.first().map(|name| format!("{name} of {left:?}"))
}

#[test]
fn flow_modules_import_each_other_without_a_cycle() {
    let mut imports = Imports::new();
    add(&mut imports, &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/flow"), None, 0);
    let layers = ["direction", "loss_history", "ledger", "sender_model", "classify", "outstanding", "clues"];
    assert!(layers.iter().all(|module| imports.contains_key(*module)), "{imports:?}");
    assert!(imports["ledger"].contains("sender_model") && imports["sender_model"].contains("classify"));
    assert_eq!(cycle(&imports), None);
}

#[test]
fn cycle_is_found_when_a_module_imports_what_imports_it() {
    let of = |pairs: &[(&str, &str)]| -> Imports {
        let mut imports = Imports::new();
        for (from, to) in pairs {
            imports.entry((*from).into()).or_default().insert((*to).into());
            imports.entry((*to).into()).or_default();
        }
        imports
    };
    assert_eq!(cycle(&of(&[("a", "b"), ("b", "c")])), None);
    assert!(cycle(&of(&[("a", "b"), ("b", "c"), ("c", "a")])).is_some());
}
