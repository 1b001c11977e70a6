//! Text formats of Go and Kubernetes that clients see: reading, printing and the exact error messages.
//!
//! ```
//! use lockstep_gotext::duration::Duration;
//! use lockstep_gotext::print::quote;
//!
//! assert_eq!(Duration::parse("1h15m")?.seconds(), 4_500);
//! assert_eq!(quote("a\u{200b}"), r#""a\u200b""#);
//! # Ok::<(), lockstep_gotext::duration::ParseDurationError>(())
//! ```

pub mod duration;
pub mod formats;
pub mod ip;
pub mod number_text;
pub mod print;
pub mod quantity;
pub mod re2;
pub mod semver;
pub mod text;
pub mod timestamp;
pub mod url;
