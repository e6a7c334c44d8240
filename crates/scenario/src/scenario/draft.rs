//! A scenario before it is read: what its file has, with the hops of the link that it names and the values of
//! a point of its sweep.

use super::Scenario;
use super::sweep::{Point, Sweep};
use super::sweep_path::put;
use crate::invalid::{Invalid, Read, Step};
use crate::keys::{self, Bounds, KeySet, KeyValue};
use crate::link::file::Link;
use crate::value::Value;

/// Keys of a scenario that are about other runs of it.
const SEARCHED: [&str; 2] = ["sweep", "hunt"];

/// Files that a scenario names outside of itself.
pub trait Files {
    /// An error in such a file, which has its place.
    type Error;

    /// A link by its name or file. The inner error is about the name.
    fn link(&self, name: &str) -> Result<Read<LinkFile>, Self::Error>;

    /// The objects of a page in a HAR file.
    fn page(&self, name: &str) -> Result<Value, Self::Error>;
}

/// A link that a scenario names.
#[derive(Clone, Debug)]
pub struct LinkFile {
    pub path: String,
    pub tables: Value,
    /// What follows its title: by which name a packaged link was found; empty for its own.
    pub remark: String,
}

/// Tables as a file has them, and the folder to which their paths are relative.
#[derive(Clone, Debug)]
pub struct Draft {
    pub tables: Value,
    pub folder: String,
}

/// What a scenario file has at a point of its sweep.
#[derive(Clone, Debug)]
pub struct Written {
    pub tables: Value,
    /// The places of the point's values, with their paths.
    swept: Vec<(Vec<Step>, String)>,
    /// The path of the link's file.
    link: Option<String>,
    has_own_tunnels: bool,
}

/// Where an invalid value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    File,
    /// The link file of this path.
    Link(String),
    /// A value of a point: its path.
    Point(String),
}

#[derive(Clone, Debug)]
pub enum DraftError<E> {
    Invalid(Invalid, Place),
    Files(E),
}

fn entries(tables: &Value) -> &[(String, Value)] {
    if let Value::Table(entries) = tables { entries } else { &[] }
}

/// Python's and TOML's values of nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Absent | Value::Bool(false) | Value::Int(0) => true,
        Value::Float(number) => *number == 0.0,
        Value::Text(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Table(entries) => entries.is_empty(),
        Value::Bool(true) | Value::Int(_) | Value::Other(_) => false,
    }
}

/// A path of a file in a folder, without `.` and double slashes.
pub fn joined(folder: &str, name: &str) -> String {
    let path = if name.starts_with('/') || folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let root = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() && root.is_empty() { ".".into() } else { format!("{root}{}", parts.join("/")) }
}

/// Makes the paths of recorded rates absolute: they are relative to the folder of the file that names them.
pub fn absolute_traces(value: &mut Value, folder: &str) {
    match value {
        Value::Table(entries) => {
            for (key, inner) in entries {
                match inner {
                    Value::Text(name) if key == "trace" => {
                        if !name.is_empty() {
                            *name = joined(folder, name);
                        }
                    }
                    inner => absolute_traces(inner, folder),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| absolute_traces(value, folder)),
        _ => {}
    }
}

/// The name of a HAR file as the page of a workload.
fn har_name(page: &Value) -> Option<&str> {
    match page {
        Value::Text(name) if name.to_lowercase().ends_with(".har") => Some(name),
        _ => None,
    }
}

impl Draft {
    /// Every combination of the swept values; one empty point without a sweep.
    pub fn points(&self) -> Read<Vec<Point>> {
        let none = Value::Table(Vec::new());
        Ok(Sweep::read(self.tables.get("sweep").unwrap_or(&none), &Bounds::NONE)?.points())
    }

    /// The keys of a point as written, those of the link among them.
    pub fn written<F: Files>(&self, point: &[(String, Value)], files: &F) -> Result<Written, DraftError<F::Error>> {
        let kept = entries(&self.tables).iter().filter(|(key, _)| !SEARCHED.contains(&key.as_str()));
        let mut tables = Value::Table(kept.cloned().collect());
        absolute_traces(&mut tables, &self.folder);
        self.read_pages(&mut tables, files)?;
        let has_own_tunnels = tables.get("tunnel").is_some();
        let mut written = Written { tables, swept: Vec::new(), link: None, has_own_tunnels };
        let (links, others): (Vec<_>, Vec<_>) = point.iter().partition(|(path, _)| path == "link");
        for (path, value) in links {
            self.put(&mut written, path, value, files)?;
        }
        written.read_link(files)?;
        for (path, value) in others {
            self.put(&mut written, path, value, files)?;
        }
        Ok(written)
    }

    /// The scenario at a point, and the tables of which it was read.
    pub fn scenario<F: Files>(&self, point: &[(String, Value)], files: &F) -> Result<(Scenario, Value), DraftError<F::Error>> {
        let mut written = self.written(point, files)?;
        for key in ["hop", "flow"] {
            written.default(key, Value::Array(Vec::new()));
        }
        let scenario = Scenario::read(&written.tables, &Bounds::NONE).map_err(|invalid| written.placed(invalid))?;
        Ok((scenario, written.tables))
    }

    /// Puts the objects of HAR files in place of their names.
    fn read_pages<F: Files>(&self, tables: &mut Value, files: &F) -> Result<(), DraftError<F::Error>> {
        let Value::Table(tables) = tables else { return Ok(()) };
        let flows = tables.iter_mut().find(|(key, _)| key == "flow").map(|(_, flows)| flows);
        let Some(Value::Array(flows)) = flows else { return Ok(()) };
        for flow in flows {
            let path = ["workload".to_owned(), "page".to_owned()];
            if let Some(name) = flow.at(&path).and_then(har_name) {
                let objects = files.page(&joined(&self.folder, name)).map_err(DraftError::Files)?;
                flow.put(&path, Some(objects));
            }
        }
        Ok(())
    }

    fn put<F: Files>(&self, written: &mut Written, path: &str, value: &Value, files: &F) -> Result<(), DraftError<F::Error>> {
        let mut value = value.clone();
        match &value {
            Value::Text(name) if path.ends_with(".trace") => value = joined(&self.folder, name).into(),
            Value::Text(name) if path.ends_with("workload.page") && har_name(&value).is_some() => {
                value = files.page(&joined(&self.folder, name)).map_err(DraftError::Files)?;
            }
            _ => absolute_traces(&mut value, &self.folder),
        }
        match put(&mut written.tables, path, value) {
            Ok(place) => written.swept.push((place, path.to_owned())),
            Err(invalid) => return Err(DraftError::Invalid(invalid, Place::Point(path.to_owned()))),
        }
        Ok(())
    }
}

impl Written {
    fn default(&mut self, key: &str, value: Value) {
        if let Value::Table(entries) = &mut self.tables
            && entries.iter().all(|(name, _)| name != key)
        {
            entries.push((key.to_owned(), value));
        }
    }

    fn read_link<F: Files>(&mut self, files: &F) -> Result<(), DraftError<F::Error>> {
        let Some(name) = self.tables.get("link").cloned() else { return Ok(()) };
        if let Value::Table(entries) = &mut self.tables {
            entries.retain(|(key, _)| key != "link");
        }
        let link = match name {
            _ if self.tables.get("hop").is_some() => {
                Err(Invalid::new("both link and [[hop]]", "either a link or [[hop]] tables, not both"))
            }
            Value::Text(name) if !name.is_empty() => files.link(&name).map_err(DraftError::Files)?,
            name => Err(Invalid::value(&name, "the name of a packaged link or a link file")),
        };
        let link = link.map_err(|invalid| self.placed(invalid.at("link")))?;
        self.link = Some(link.path.clone());
        self.add_link(&link).map_err(|invalid| DraftError::Invalid(invalid, Place::Link(link.path.clone())))
    }

    fn add_link(&mut self, link: &LinkFile) -> Read<()> {
        keys::entries(&link.tables, &Link::names())?;
        let hops = link.tables.get("hop").filter(|hops| !is_empty(hops));
        let mut hops = hops.ok_or_else(|| Invalid::new("no hops", "at least one [[hop]] in a link file"))?.clone();
        let folder = link.path.rsplit_once('/').map_or("", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        absolute_traces(&mut hops, folder);
        self.default("hop", hops);
        if let Some(tunnels) = link.tables.get("tunnel").filter(|tunnels| !is_empty(tunnels)) {
            self.default("tunnel", tunnels.clone());
        }
        for key in ["title", "source"] {
            self.default(key, link.tables.get(key).cloned().unwrap_or_else(|| "".into()));
        }
        if let (false, Some(Value::Text(title))) = (link.remark.is_empty(), self.tables.get("title")) {
            let title = format!("{title} ({})", link.remark);
            self.tables.put(&["title".into()], Some(title.into()));
        }
        Ok(())
    }

    /// The error with the file where its value stands.
    fn placed<E>(&self, invalid: Invalid) -> DraftError<E> {
        let at = &invalid.path;
        let swept = self.swept.iter().find(|(place, _)| at.starts_with(place) || place.starts_with(at));
        let place = match (swept, &self.link) {
            (Some((_, path)), _) => Place::Point(path.clone()),
            (None, Some(link)) if self.is_of_link(at) => Place::Link(link.clone()),
            _ => Place::File,
        };
        DraftError::Invalid(invalid, place)
    }

    /// Whether the link has what stands there, and not the scenario.
    fn is_of_link(&self, at: &[Step]) -> bool {
        match at.first() {
            Some(Step::Key(key)) => {
                matches!(key.as_str(), "hop" | "title" | "source") || key == "tunnel" && !self.has_own_tunnels
            }
            _ => false,
        }
    }

    /// A resolved scenario with each table whose `kind` the point sets as it is written: defaults of one kind
    /// are no keys of another, or have other values there. Of a swept link no hops.
    pub fn with_swept_kinds(&self, resolved: Value) -> Read<Value> {
        let mut tables = resolved;
        for (place, path) in &self.swept {
            if path == "link" {
                if let Value::Table(entries) = &mut tables {
                    entries.retain(|(key, _)| key != "hop" && key != "tunnel");
                }
                return Ok(tables);
            }
            if let (Some(path), [above @ .., _]) = (path.strip_suffix(".kind"), place.as_slice()) {
                let steps: Vec<String> = above.iter().map(Step::to_string).collect();
                put(&mut tables, path, self.tables.at(&steps).cloned().unwrap_or(Value::Absent))?;
            }
        }
        Ok(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalid::Code;
    use crate::table;

    /// One link, whose tables are given, and no pages.
    struct OneLink(Value);

    impl Files for OneLink {
        type Error = String;

        fn link(&self, name: &str) -> Result<Read<LinkFile>, String> {
            let file = |remark: &str| LinkFile { path: "links/line.toml".into(), tables: self.0.clone(), remark: remark.into() };
            match name {
                "line" => Ok(Ok(file(""))),
                "dsl" => Ok(Ok(file("dsl: the packaged link line"))),
                "broken" => Err("links/broken.toml:1".into()),
                _ => Ok(Err(Invalid::value(&name.into(), "line"))),
            }
        }

        fn page(&self, name: &str) -> Result<Value, String> {
            Err(name.into())
        }
    }

    fn line() -> OneLink {
        let trace = table!("down" => table!("trace" => "./lte.down"), "up" => "1 Mb/s");
        OneLink(table!("title" => "A line", "hop" => vec![table!("name" => "air", "rate" => trace, "delay" => "5 ms")]))
    }

    fn draft(keys: Vec<(&str, Value)>) -> Draft {
        let flow = table!("workload" => table!("kind" => "bulk"));
        let mut tables = vec![("duration".to_owned(), "10 s".into()), ("flow".to_owned(), vec![flow].into())];
        tables.extend(keys.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Draft { tables: Value::Table(tables), folder: "study".into() }
    }

    fn place(draft: &Draft, point: &[(&str, Value)], link: &OneLink) -> (Place, String) {
        let point: Vec<_> = point.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
        match draft.scenario(&point, link) {
            Err(DraftError::Invalid(invalid, place)) => (place, invalid.found),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tables_have_the_hops_of_a_link_when_the_scenario_or_a_point_names_it() {
        let named = draft(vec![("link", "dsl".into()), ("sweep", table!("link" => vec!["line".into()]))]);
        let written = named.written(&[], &line()).expect("a scenario").tables;
        assert_eq!(written.get("title"), Some(&"A line (dsl: the packaged link line)".into()));
        let trace = ["hop", "0", "rate", "down", "trace"].map(String::from);
        assert_eq!(written.at(&trace), Some(&"links/lte.down".into()));
        assert_eq!((written.get("link"), written.get("sweep"), written.get("source")), (None, None, Some(&"".into())));
        let point = vec![("hop.air.delay".to_owned(), "9 ms".into()), ("link".to_owned(), "line".into())];
        let swept = draft(vec![]).written(&point, &line()).expect("a scenario");
        assert_eq!(swept.tables.at(&["hop", "0", "delay"].map(String::from)), Some(&"9 ms".into()));
        let kept = swept.with_swept_kinds(table!("hop" => 1, "clients" => 2)).expect("tables");
        assert_eq!(kept.to_toml(), "{ clients = 2 }");
    }

    #[test]
    fn error_is_placed_in_the_link_the_file_or_the_point_that_has_the_value() {
        let scenario = draft(vec![("link", "line".into())]);
        let file = Place::Link("links/line.toml".into());
        assert_eq!(place(&scenario, &[], &OneLink(table!("hops" => 1))), (file.clone(), "unknown key \"hops\"".into()));
        assert_eq!(place(&scenario, &[], &OneLink(table!("hop" => Vec::new()))).1, "no hops");
        let slow = OneLink(table!("hop" => vec![table!("name" => "air", "rate" => "0 b/s")]));
        assert_eq!(place(&scenario, &[], &slow), (file, "\"0 b/s\"".into()));
        let point = |path: &str| Place::Point(path.into());
        assert_eq!(place(&scenario, &[("hop.air.rate.down", "0 b/s".into())], &slow).0, point("hop.air.rate.down"));
        assert_eq!(place(&scenario, &[("hop.aire.rate", "0 b/s".into())], &line()).0, point("hop.aire.rate"));
        assert_eq!(place(&scenario, &[("link", "lin".into())], &line()), (point("link"), "\"lin\"".into()));
        assert_eq!(place(&draft(vec![("link", 3.into())]), &[], &line()), (Place::File, "3".into()));
        let plain = OneLink(table!("hop" => vec![table!("name" => "air", "rate" => "1 Mb/s", "delay" => "5 ms")]));
        assert_eq!(place(&draft(vec![("link", "line".into()), ("clients", 0.into())]), &[], &plain).0, Place::File);
        let both = draft(vec![("link", "line".into()), ("hop", Vec::new().into())]);
        assert_eq!(place(&both, &[], &line()).1, "both link and [[hop]]");
    }

    #[test]
    fn error_of_another_file_passes_as_it_is() {
        let broken = draft(vec![("link", "broken".into())]).written(&[], &line());
        assert!(matches!(broken, Err(DraftError::Files(name)) if name == "links/broken.toml:1"));
        let point = [("flow.flow1.workload.page".to_owned(), "a.HAR".into())];
        let page = draft(vec![]).written(&point, &line());
        assert!(matches!(page, Err(DraftError::Files(name)) if name == "study/a.HAR"));
    }

    #[test]
    fn table_is_as_written_when_a_point_sets_its_kind() {
        let queue = table!("kind" => "red", "packets" => 50, "min" => "5 packets", "max" => "15 packets");
        let hop = table!("name" => "air", "rate" => "1 Mb/s", "queue" => queue);
        let point = [("hop.air.queue.kind".to_owned(), "droptail".into())];
        let written = draft(vec![("hop", vec![hop.clone()].into())]).written(&point, &line()).expect("tables");
        let resolved = written.with_swept_kinds(table!("hop" => vec![hop])).expect("tables");
        let queue = resolved.at(&["hop", "0", "queue"].map(String::from)).expect("a queue");
        assert_eq!(queue.get("kind"), Some(&"droptail".into()));
    }

    #[test]
    fn path_is_that_of_the_folder_when_it_is_relative() {
        for (folder, name, path) in [
            ("", "./a//b", "a/b"),
            ("/x", "../a", "/x/../a"),
            ("x", "/a", "/a"),
            ("", "", "."),
            (".", "a", "a"),
            ("/", "a", "/a"),
        ] {
            assert_eq!(joined(folder, name), path);
        }
    }

    #[test]
    fn points_are_refused_when_the_sweep_is_no_table() {
        let wrong = draft(vec![("sweep", 3.into())]).points().expect_err("a number");
        assert_eq!((wrong.found.as_str(), wrong.code), ("3", Code::Value));
        assert_eq!(draft(vec![]).points().expect("no sweep").len(), 1);
    }
}
