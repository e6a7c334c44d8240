//! The packaged pages: the objects of a page of the web, by the distributions that HTTP Archive
//! publishes.
//!
//! Counts and bytes of each type are the percentiles of desktop pages in October 2024 (Web Almanac 2024,
//! chapter Page Weight): each type's own, so that a page of percentile p is none that was crawled. The
//! objects of a type have one size, as the chapter has no distribution of objects within a page. HTML and
//! fonts have the median bytes for each object, the only ones published. How deep objects are is an
//! assumption: the document names the style sheets, two thirds of the scripts and half of the images;
//! a style sheet names the fonts; a script names the rest. The names of the pages are labels.

use crate::word_enum;

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
