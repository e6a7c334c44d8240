//! The five congestion controls: what they are called here and in the kernel, and the programs themselves.

/// Where an ELF file in memory has to begin.
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);

/// One congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// The simulator's name, as `ackclock list variants` has it.
    pub variant: &'static str,
    /// What TCP_CONGESTION takes: at most 15 letters, digits, `_` and `.` (the kernel's rule), and no module's name.
    pub kernel_name: &'static str,
    /// The compiled program.
    pub object: &'static [u8],
}

macro_rules! object {
    ($file:literal) => {{
        static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".bpf.o")));
        &OBJECT.0
    }};
}

pub static CONTROLS: [Control; 5] = [
    Control { variant: "vegas", kernel_name: "ackclock_vegas", object: object!("vegas") },
    Control { variant: "veno", kernel_name: "ackclock_veno", object: object!("veno") },
    Control { variant: "westwood+", kernel_name: "ackclock_westw", object: object!("westwood") },
    Control { variant: "bic", kernel_name: "ackclock_bic", object: object!("bic") },
    Control { variant: "biad", kernel_name: "ackclock_biad", object: object!("biad") },
];

/// Those of these variants, or all where none is named.
///
/// # Errors
/// A name that is none of the five.
pub fn chosen(names: &[String]) -> Result<Vec<Control>, String> {
    if names.is_empty() {
        return Ok(CONTROLS.to_vec());
    }
    names.iter().map(|name| named(name)).collect()
}

fn named(name: &str) -> Result<Control, String> {
    let found = CONTROLS.iter().find(|c| c.variant == name || c.kernel_name == name).copied();
    found.ok_or_else(|| format!("found \"{name}\"; allowed: {}", CONTROLS.map(|c| c.variant).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_every_name() {
        for Control { kernel_name, .. } in CONTROLS {
            assert!(kernel_name.len() < 16, "TCP_CA_NAME_MAX has room for the final 0: {kernel_name}");
            assert!(kernel_name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{kernel_name}");
        }
    }

    #[test]
    fn an_object_is_named_as_the_catalogue_says() {
        for Control { kernel_name, object, .. } in CONTROLS {
            let mut wanted = kernel_name.as_bytes().to_vec();
            wanted.push(0);
            assert!(object.windows(wanted.len()).any(|w| w == wanted), "{kernel_name}");
        }
    }

    #[test]
    fn no_name_means_all_and_a_wrong_one_is_told_the_right_ones() {
        assert_eq!(chosen(&[]).unwrap().len(), 5);
        assert_eq!(chosen(&["bic".into()]).unwrap()[0].kernel_name, "ackclock_bic");
        let why = chosen(&["cubic".into()]).unwrap_err();
        assert_eq!(why, "found \"cubic\"; allowed: vegas, veno, westwood+, bic, biad");
    }
}
