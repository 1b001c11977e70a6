//! Embedded files of the user interface.

use sha2::{Digest as _, Sha256};

/// An embedded file.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Path below `/ui/`.
    pub name: &'static str,
    /// Media type.
    pub content_type: &'static str,
    /// Uncompressed content.
    pub plain: &'static [u8],
    /// Brotli-compressed content.
    pub br: &'static [u8],
    /// Gzip-compressed content.
    pub gzip: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $content_type:literal) => {
        Asset {
            name: $name,
            content_type: $content_type,
            plain: include_bytes!(concat!("../../../ui/dist/", $name)),
            br: include_bytes!(concat!("../../../ui/dist/", $name, ".br")),
            gzip: include_bytes!(concat!("../../../ui/dist/", $name, ".gz")),
        }
    };
}

const ASSETS: &[Asset] = &[
    asset!("index.html", "text/html; charset=utf-8"),
    asset!("app.js", "text/javascript; charset=utf-8"),
    asset!("app.css", "text/css; charset=utf-8"),
    asset!("favicon.svg", "image/svg+xml"),
];

/// All files.
pub fn assets() -> &'static [Asset] {
    ASSETS
}

/// The file at a path below `/ui/`; the empty path is `index.html`.
pub(crate) fn at(path: &str) -> Option<&'static Asset> {
    let name = if path.is_empty() { "index.html" } else { path };
    ASSETS.iter().find(|asset| asset.name == name)
}

/// Content coding of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coding {
    Plain,
    Brotli,
    Gzip,
}

impl Coding {
    /// The smallest coding that `Accept-Encoding` allows.
    pub(crate) fn of(accepted: &str) -> Self {
        let accepts = |name: &str| {
            accepted.split(',').any(|item| {
                let (coding, weight) = item.split_once(';').unwrap_or((item, ""));
                let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
                coding.trim().eq_ignore_ascii_case(name)
                    && weight
                        .trim()
                        .parse::<f32>()
                        .is_ok_and(|weight| weight > 0.0)
            })
        };
        if accepts("br") {
            Self::Brotli
        } else if accepts("gzip") {
            Self::Gzip
        } else {
            Self::Plain
        }
    }

    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
        }
    }
}

impl Asset {
    pub(crate) fn bytes(&self, coding: Coding) -> &'static [u8] {
        match coding {
            Coding::Plain => self.plain,
            Coding::Brotli => self.br,
            Coding::Gzip => self.gzip,
        }
    }

    /// Strong entity tag, different for each coding.
    pub(crate) fn etag(&self, coding: Coding) -> String {
        let digest = Sha256::digest(self.plain);
        let digest: String = digest
            .iter()
            .take(12)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        match coding.name() {
            None => format!("\"{digest}\""),
            Some(coding) => format!("\"{digest}-{coding}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// ux.md §8.4 S3: everything that the page names is there.
    #[test]
    fn everything_that_the_page_refers_to_is_embedded() {
        let page = std::str::from_utf8(at("").unwrap().plain).unwrap();
        let mut found = Vec::new();
        for attribute in ["src=\"", "href=\""] {
            for rest in page.split(attribute).skip(1) {
                found.push(rest.split('"').next().unwrap());
            }
        }
        found.sort_unstable();
        assert_eq!(found, ["/ui/app.css", "/ui/app.js", "/ui/favicon.svg"]);
        for path in found {
            let name = path.strip_prefix("/ui/").unwrap();
            assert_eq!(at(name).map(|asset| asset.name), Some(name));
        }
    }

    /// ux.md §8.2 U8: no inline script, nothing from elsewhere.
    #[test]
    fn the_page_has_no_script_of_its_own_and_nothing_from_elsewhere() {
        let page = std::str::from_utf8(at("").unwrap().plain).unwrap();
        for script in page.split("<script").skip(1) {
            let (_, content) = script.split_once('>').unwrap();
            assert!(content.starts_with("</script>"), "{script}");
        }
        for asset in assets() {
            let text = String::from_utf8_lossy(asset.plain);
            for scheme in ["https://", "http://"] {
                for rest in text.split(scheme).skip(1) {
                    let host: String = rest
                        .chars()
                        .take_while(|c| !"/\"'`\\ ".contains(*c))
                        .collect();
                    // XML namespaces and documentation links, which browsers do not fetch.
                    assert!(
                        ["www.w3.org", "svelte.dev"].contains(&&*host),
                        "{} names {scheme}{host}",
                        asset.name
                    );
                }
            }
        }
    }

    /// ux.md §8.4 S4: app.js and app.css are at most 90 kB together, compressed.
    #[test]
    fn the_budget_is_kept() {
        let size = |name| at(name).unwrap().gzip.len();
        let sum = size("app.js") + size("app.css");
        assert!(sum <= 90_000, "{sum} bytes");
        let all: usize = assets()
            .iter()
            .map(|a| a.plain.len() + a.br.len() + a.gzip.len())
            .sum();
        assert!(all <= 1_500_000, "the binary grows by {all} bytes");
    }

    #[test]
    fn compressed_files_hold_the_plain_ones() {
        for asset in assets() {
            let mut plain = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(asset.gzip);
            decoder.read_to_end(&mut plain).unwrap();
            assert!(
                plain == asset.plain,
                "{}: run `npm run build` in ui/",
                asset.name
            );
            assert!(!asset.br.is_empty(), "{}", asset.name);
        }
    }

    #[test]
    fn the_smallest_form_is_chosen_that_is_accepted() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Coding::Brotli),
            ("gzip;q=0.5", Coding::Gzip),
            ("br;q=0, GZIP", Coding::Gzip),
            ("identity", Coding::Plain),
            ("", Coding::Plain),
            ("br;q=x", Coding::Plain),
        ] {
            assert_eq!(Coding::of(accepted), expected, "{accepted}");
        }
    }

    /// ux.md §8.2 U9.
    #[test]
    fn what_is_not_there_is_not_the_page() {
        for path in [
            "app.js.map",
            "index.htm",
            "features",
            "../Cargo.toml",
            "app.js/",
        ] {
            assert!(at(path).is_none(), "{path}");
        }
    }
}
