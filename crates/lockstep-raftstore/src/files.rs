//! Operations on the files of a member, as values.

use bytes::Bytes;

/// An operation on the directory of a member. They are performed in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileOp {
    /// Creates an empty file, or truncates one.
    Create {
        /// Its name.
        name: String,
    },
    /// Writes bytes.
    Write {
        /// The file.
        name: String,
        /// Where they begin.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// Makes content and length of a file safe (fsync).
    Sync {
        /// The file.
        name: String,
    },
    /// Renames a file, replacing another one.
    Rename {
        /// The file.
        from: String,
        /// Its new name.
        to: String,
    },
    /// Removes a file, if it exists.
    Remove {
        /// The file.
        name: String,
    },
    /// Makes names safe (fsync of the directory).
    SyncNames,
}
