//! Pages: the objects that a browser loads, given one by one, or those of a packaged page, by the
//! distributions that HTTP Archive publishes.
//!
//! Counts and bytes of each type are the percentiles of desktop pages in October 2024 (Web Almanac 2024,
//! chapter Page Weight): each type's own, so that a page of percentile p is none that was crawled. The
//! objects of a type have one size, as the chapter has no distribution of objects within a page. HTML and
//! fonts have the median bytes for each object, the only ones published. How deep objects are is an
//! assumption: the document names the style sheets, two thirds of the scripts and half of the images;
//! a style sheet names the fonts; a script names the rest. The names of the pages are labels.

use crate::invalid::{Invalid, Read, Step};
use crate::keys::{Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::{Bytes, Count, Time, size_text, time_text};
use crate::word_enum;
use ackclock_core::units::Span;

word_enum! {
    /// A packaged page.
    pub enum PageName {
        /// The 10th percentile of each type: 204 kB in 13 objects.
        Light = "light",
        /// The median: 1.9 MB in 56 objects.
        Shop = "shop",
        /// The 75th percentile: 4.4 MB in 105 objects.
        Newspaper = "news",
    }
}

/// The objects of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum PageTree {
    Packaged(PageName),
    /// At least one, the document first.
    Objects(Vec<PageObject>),
}

/// An object as a file has it: `[size, parent, wait, host]`, of which all but the size may be left out.
#[derive(Clone, Debug, PartialEq)]
pub struct PageObject {
    pub size: Bytes,
    /// Number of the object that names it, which precedes it; none for the document.
    pub parent: Option<u32>,
    /// From the arrival of the parent until the request.
    pub wait: Span,
    /// A label of its server; empty for the document's.
    pub host: String,
}

const OBJECT: &str = "[size, parent, wait, host], such as [\"18 kB\", 0, \"12 ms\", \"a\"]: the parent is the number of \
an earlier object, and the first object has none";
const MAX_OBJECTS: usize = 100_000;
const MAX_HOST: usize = 64;

fn allowed() -> String {
    format!("{}, the path of a HAR file, or objects [size, parent, wait, host]", PageName::limits(&Bounds::NONE))
}

impl PageTree {
    /// Bytes and parent of each object. The document is the first, and parents precede their children.
    pub fn objects(&self) -> Vec<(u64, Option<u32>)> {
        match self {
            PageTree::Packaged(page) => page.objects(),
            PageTree::Objects(objects) => objects.iter().map(|object| (object.size.0, object.parent)).collect(),
        }
    }

    /// The number of each object's server, from 0 in the order of their first objects; empty with one server.
    pub fn hosts(&self) -> Vec<u32> {
        let PageTree::Objects(objects) = self else { return Vec::new() };
        let mut labels: Vec<&str> = Vec::new();
        let number = |object| {
            let PageObject { host, .. }: &PageObject = object;
            let known = labels.iter().position(|label| label == host);
            known.unwrap_or_else(|| {
                labels.push(host);
                labels.len() - 1
            }) as u32
        };
        let hosts: Vec<u32> = objects.iter().map(number).collect();
        if labels.len() > 1 { hosts } else { Vec::new() }
    }

    /// Number of servers.
    pub fn host_count(&self) -> u32 {
        self.hosts().into_iter().max().unwrap_or(0) + 1
    }

    /// The wait of each object in ps; empty if none waits.
    pub fn waits_ps(&self) -> Vec<u64> {
        let PageTree::Objects(objects) = self else { return Vec::new() };
        let waits: Vec<u64> = objects.iter().map(|object| object.wait.0).collect();
        if waits.iter().any(|&wait| wait > 0) { waits } else { Vec::new() }
    }
}

impl PageObject {
    fn read(value: &Value, number: usize) -> Read<PageObject> {
        let wrong = || Invalid::value(value, OBJECT);
        let Value::Array(parts) = value else { return Err(wrong()) };
        let size = Bytes::read(parts.first().ok_or_else(wrong)?, &Bounds::NONE)?;
        let parent = match parts.get(1) {
            Some(Value::Int(parent)) => Some(u32::try_from(*parent).map_err(|_| wrong())?),
            None => None,
            Some(_) => return Err(wrong()),
        };
        let wait = parts.get(2).map_or(Ok(Time(Span::ZERO)), |wait| Time::read(wait, &Bounds::NONE))?.0;
        let host = match parts.get(3) {
            Some(Value::Text(host)) if host.len() <= MAX_HOST => host.clone(),
            None => String::new(),
            Some(_) => return Err(wrong()),
        };
        let is_in_order = match parent {
            None => number == 0,
            Some(0) if number == 0 => true,
            Some(parent) => (parent as usize) < number,
        };
        if !is_in_order || parts.len() > 4 {
            return Err(wrong());
        }
        Ok(PageObject { size, parent: parent.filter(|_| number > 0), wait, host })
    }

    fn write(&self) -> Value {
        let mut parts: Vec<Value> = vec![
            size_text(self.size.0).into(),
            Value::Int(self.parent.unwrap_or(0).into()),
            time_text(self.wait).into(),
            self.host.as_str().into(),
        ];
        let default = [self.parent.is_none(), self.wait == Span::ZERO, self.host.is_empty()];
        let given = default.iter().rposition(|is_default| !is_default).map_or(0, |last| last + 1);
        parts.truncate(1 + given);
        parts.into()
    }
}

impl KeyValue for PageTree {
    fn read(value: &Value, bounds: &Bounds) -> Read<PageTree> {
        match value {
            Value::Array(objects) if (1..=MAX_OBJECTS).contains(&objects.len()) => {
                let read = |(number, object)| PageObject::read(object, number).map_err(|error| error.below(Step::Index(number)));
                objects.iter().enumerate().map(read).collect::<Read<_>>().map(PageTree::Objects)
            }
            Value::Text(_) => match PageName::read(value, bounds) {
                Ok(page) => Ok(PageTree::Packaged(page)),
                Err(_) => Err(Invalid::value(value, allowed())),
            },
            _ => Err(Invalid::value(value, allowed())),
        }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        match self {
            PageTree::Packaged(page) => page.write(given),
            PageTree::Objects(objects) => Value::Array(objects.iter().map(PageObject::write).collect()),
        }
    }

    fn unit() -> &'static str {
        "page"
    }

    fn limits(_: &Bounds) -> String {
        allowed()
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        let parts = schema::either(vec![
            Bytes::schema(&Bounds::NONE, definitions),
            Count::schema(&Bounds { min: None, ..Bounds::NONE }, definitions),
            Value::table([("type", "string".into())]),
        ]);
        let object = schema::array(parts, [("minItems", 1.into()), ("maxItems", 4.into())]);
        let path = Value::table([("type", "string".into()), ("pattern", "\\.har$".into())]);
        schema::either(vec![PageName::schema(bounds, definitions), path, schema::array(object, [("minItems", 1.into())])])
    }

    fn options() -> Vec<Value> {
        PageName::options()
    }
}

/// Objects of a type: how many, and bytes of all of them.
struct Type {
    count: u64,
    bytes: u64,
}

/// The objects of a page by type.
struct Composition {
    /// The document is the first of them.
    html: Type,
    css: Type,
    scripts: Type,
    fonts: Type,
    images: Type,
}

const fn of(count: u64, kilobytes: u64) -> Type {
    Type { count, bytes: 1000 * kilobytes }
}

impl PageName {
    fn composition(self) -> Composition {
        match self {
            PageName::Light => {
                Composition { html: of(1, 9), css: of(2, 10), scripts: of(5, 101), fonts: of(0, 0), images: of(5, 84) }
            }
            PageName::Shop => {
                Composition { html: of(2, 18), css: of(8, 80), scripts: of(24, 620), fonts: of(4, 131), images: of(18, 1054) }
            }
            PageName::Newspaper => {
                Composition { html: of(6, 54), css: of(16, 152), scripts: of(43, 1172), fonts: of(7, 229), images: of(33, 2822) }
            }
        }
    }

    /// Bytes and parent of each object. The document is the first, and parents precede their children.
    pub fn objects(self) -> Vec<(u64, Option<u32>)> {
        let Composition { html, css, scripts, fonts, images } = self.composition();
        let mut objects = Vec::new();
        let mut add = |of: &Type, count: u64, parent: Option<u32>| {
            let first = objects.len();
            let size = of.bytes / of.count.max(1);
            objects.extend((0..count).map(|_| (size, parent)));
            u32::try_from(first).ok()
        };
        let early_scripts = scripts.count - scripts.count / 3;
        let document = add(&html, 1, None);
        let sheet = add(&css, css.count, document);
        let script = add(&scripts, early_scripts, document);
        add(&images, images.count / 2, document);
        add(&fonts, fonts.count, sheet);
        add(&scripts, scripts.count - early_scripts, script);
        add(&html, html.count - 1, script);
        add(&images, images.count - images.count / 2, script);
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(parts: Vec<Value>) -> Value {
        parts.into()
    }

    #[test]
    fn objects_are_read_as_they_are_written() {
        let written: Value = vec![
            object(vec!["18 kB".into(), 0.into(), "0 s".into(), "a".into()]),
            object(vec!["10 kB".into(), 0.into(), "12 ms".into(), "b".into()]),
            object(vec!["5 kB".into(), 1.into(), "0 s".into(), "a".into()]),
        ]
        .into();
        let tree = PageTree::read(&written, &Bounds::NONE).unwrap();
        assert_eq!(tree.objects(), [(18_000, None), (10_000, Some(0)), (5000, Some(1))]);
        assert_eq!((tree.hosts(), tree.host_count(), tree.waits_ps()), (vec![0, 1, 0], 2, vec![0, 12_000_000_000, 0]));
        assert_eq!(PageTree::read(&tree.write(None), &Bounds::NONE), Ok(tree));
        let short =
            PageTree::read(&vec![object(vec!["1 kB".into()]), object(vec!["2 kB".into(), 0.into()])].into(), &Bounds::NONE);
        let short = short.unwrap();
        assert_eq!((short.hosts(), short.waits_ps(), short.host_count()), (vec![], vec![], 1));
        assert_eq!(short.write(None).to_short_toml(), "[[\"1 kB\"], [\"2 kB\", 0]]");
    }

    #[test]
    fn object_is_refused_without_a_size_or_with_a_later_parent() {
        for wrong in [
            vec![],
            vec![object(vec![])],
            vec![object(vec!["1 kB".into()]), object(vec!["1 kB".into(), 1.into()])],
            vec![object(vec!["1 kB".into()]), object(vec!["1 kB".into(), Value::Int(-1)])],
            vec![object(vec!["1 kB".into()]), object(vec!["1 kB".into()])],
            vec![object(vec!["0 B".into()])],
            vec![object(vec!["1 kB".into(), 0.into(), "-1 s".into()])],
            vec![object(vec!["1 kB".into(), 0.into(), "0 s".into(), "a".into(), "b".into()])],
        ] {
            assert!(PageTree::read(&wrong.clone().into(), &Bounds::NONE).is_err(), "{wrong:?}");
        }
        let unknown = PageTree::read(&"shopp".into(), &Bounds::NONE).expect_err("no such page");
        assert_eq!(unknown.allowed, allowed());
    }

    #[test]
    fn pages_have_the_objects_and_bytes_of_their_percentile() {
        let figures = |page: PageName| {
            let objects = page.objects();
            (objects.len(), objects.iter().map(|(bytes, _)| bytes / 1000).sum::<u64>())
        };
        assert_eq!(figures(PageName::Light).0, 1 + 2 + 5 + 5);
        assert_eq!(figures(PageName::Shop).0, 2 + 8 + 24 + 4 + 18);
        assert_eq!(figures(PageName::Newspaper).0, 6 + 16 + 43 + 7 + 33);
        let bytes = |page: PageName| page.objects().iter().map(|(bytes, _)| bytes).sum::<u64>();
        let near = |bytes: u64, want: u64| bytes.abs_diff(want) < 100;
        assert!(near(bytes(PageName::Light), 204_000), "{}", bytes(PageName::Light));
        assert!(near(bytes(PageName::Shop), 1_903_000), "{}", bytes(PageName::Shop));
        assert!(near(bytes(PageName::Newspaper), 4_429_000), "{}", bytes(PageName::Newspaper));
    }

    #[test]
    fn parents_precede_their_children_and_the_document_has_none() {
        for page in [PageName::Light, PageName::Shop, PageName::Newspaper] {
            let objects = page.objects();
            let in_order = (0..).zip(&objects).all(|(number, (bytes, parent))| {
                *bytes > 0 && if number == 0 { parent.is_none() } else { parent.is_some_and(|parent| parent < number) }
            });
            assert!(in_order, "{objects:?}");
        }
    }
}
