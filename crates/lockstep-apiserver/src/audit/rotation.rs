//! The file of the audit log: it is renamed when it is full, and old ones are removed, as upstream does.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// Time in the name of a renamed file, in UTC.
const NAME_FORMAT: &str = "%Y-%m-%dT%H-%M-%S%.3f";

/// Limits of the files of an audit log; zero is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rotation {
    /// Bytes of a file before it is renamed.
    pub bytes_max: u64,
    /// Renamed files that are kept.
    pub backups_max: usize,
    /// Days that a renamed file is kept.
    pub age_days_max: u32,
}

impl Default for Rotation {
    /// The defaults of upstream.
    fn default() -> Self {
        Self {
            bytes_max: 100 << 20,
            backups_max: 100,
            age_days_max: 366,
        }
    }
}

impl Rotation {
    /// Removes the files that are too many or too old.
    fn remove_old(self, backups: &[(Timestamp, PathBuf)], now: Timestamp) -> io::Result<()> {
        let age_max = i64::from(self.age_days_max) * 24 * 3600;
        for (newer, (time, path)) in backups.iter().rev().enumerate() {
            let is_many = self.backups_max > 0 && newer >= self.backups_max;
            let is_old = age_max > 0 && now.as_second() - time.as_second() > age_max;
            if is_many || is_old {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// An open file of the audit log.
pub(super) struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    output: BufWriter<File>,
    bytes: u64,
}

impl LogFile {
    /// Appends to a file, which is created with rights for its owner alone.
    pub(super) fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let (output, bytes) = append(path)?;
        Ok(Self {
            path: path.to_owned(),
            rotation,
            output,
            bytes,
        })
    }

    /// Writes a line, in a new file if it does not fit into this one. If the file cannot be renamed, or an old one not
    /// removed, the line is in the open file all the same.
    pub(super) fn write_line(&mut self, line: &str) -> io::Result<()> {
        let more = line.len() as u64 + 1;
        let bytes_max = self.rotation.bytes_max;
        let mut rotated = Ok(());
        if bytes_max > 0 && self.bytes > 0 && self.bytes + more > bytes_max {
            rotated = self.rotate(Timestamp::now());
        }
        self.bytes += more;
        self.output.write_all(line.as_bytes())?;
        self.output.write_all(b"\n")?;
        rotated
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Opens the path again, which another program may have renamed. If that fails, the open file stays.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        self.output.flush()?;
        (self.output, self.bytes) = append(&self.path)?;
        Ok(())
    }

    fn rotate(&mut self, now: Timestamp) -> io::Result<()> {
        self.output.flush()?;
        let mut backups = self.backups()?;
        // Names sort by age, also if files are renamed faster than the clock of names goes.
        let after = backups.last().map(|(newest, _)| *newest + 1.millisecond());
        let time = after.map_or(now, |after| after.max(now));
        let backup = self.backup_name(time);
        fs::rename(&self.path, &backup)?;
        (self.output, self.bytes) = append(&self.path)?;
        backups.push((time, backup));
        self.rotation.remove_old(&backups, now)
    }

    fn backup_name(&self, time: Timestamp) -> PathBuf {
        let (stem, extension) = self.name_parts();
        let time = time.to_zoned(TimeZone::UTC).strftime(NAME_FORMAT);
        self.path
            .with_file_name(format!("{stem}-{time}{extension}"))
    }

    /// Name of the file before its extension, and the extension with its dot.
    fn name_parts(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let extension = text(self.path.extension());
        let dot = if extension.is_empty() { "" } else { "." };
        (text(self.path.file_stem()), format!("{dot}{extension}"))
    }

    /// Renamed files and their times, the oldest first.
    fn backups(&self) -> io::Result<Vec<(Timestamp, PathBuf)>> {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut backups = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if let Some(time) = self.time_of(&name.to_string_lossy()) {
                backups.push((time, entry.path()));
            }
        }
        backups.sort();
        Ok(backups)
    }

    /// Time in the name of a renamed file; none for other files.
    fn time_of(&self, name: &str) -> Option<Timestamp> {
        let (stem, extension) = self.name_parts();
        let time = name.strip_prefix(&stem)?.strip_prefix('-')?;
        let time = time.strip_suffix(&extension)?;
        let time = DateTime::strptime(NAME_FORMAT, time).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }
}

fn append(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    let bytes = file.metadata()?.len();
    Ok((BufWriter::new(file), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and contents of the files of a folder, with the times in names masked.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let masked = files.iter().map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let name = match name.len() {
                9 => name,
                _ => format!("{}<time>{}", &name[..6], &name[29..]),
            };
            (name, fs::read_to_string(path).expect("text"))
        });
        masked.collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        expected.iter().map(owned).collect()
    }

    fn write(log: &mut LogFile, lines: &[&str]) {
        for line in lines {
            log.write_line(line).expect("it can be written");
        }
        log.flush().expect("it can be written");
    }

    #[test]
    fn a_full_file_is_renamed_and_the_oldest_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        fs::write(folder.path().join("other.txt"), "").expect("it can be written");
        let rotation = Rotation {
            bytes_max: 10,
            backups_max: 2,
            age_days_max: 0,
        };
        let mut log = LogFile::open(&path, rotation).expect("it can be opened");
        write(
            &mut log,
            &["one", "two", "three", "four", "five is a long line", "six"],
        );
        let expected = [
            ("audit-<time>.log", "four\n"),
            ("audit-<time>.log", "five is a long line\n"),
            ("audit.log", "six\n"),
            ("other.txt", ""),
        ];
        assert_eq!(files(folder.path()), pairs(&expected));
        // An older process left a file that is not full.
        let mut log = LogFile::open(&path, rotation).expect("it can be opened");
        write(&mut log, &["seven", "eight"]);
        let expected = [
            ("audit-<time>.log", "five is a long line\n"),
            ("audit-<time>.log", "six\nseven\n"),
            ("audit.log", "eight\n"),
            ("other.txt", ""),
        ];
        assert_eq!(files(folder.path()), pairs(&expected));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&path).expect("it exists").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn old_files_are_removed_by_the_time_in_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["audit-2020-01-01T00-00-00.000.log", "audit-notes.log"] {
            fs::write(folder.path().join(name), name).expect("it can be written");
        }
        let rotation = Rotation {
            bytes_max: 4,
            backups_max: 0,
            age_days_max: 1,
        };
        let path = folder.path().join("audit.log");
        let mut log = LogFile::open(&path, rotation).expect("it can be opened");
        write(&mut log, &["one", "two", "three"]);
        let names: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(
            !folder
                .path()
                .join("audit-2020-01-01T00-00-00.000.log")
                .exists()
        );
    }

    /// The path names no file any more, so the rename fails.
    #[test]
    fn a_line_is_written_also_if_the_file_cannot_be_renamed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        let rotation = Rotation {
            bytes_max: 4,
            backups_max: 0,
            age_days_max: 0,
        };
        let mut log = LogFile::open(&path, rotation).expect("it can be opened");
        write(&mut log, &["one"]);
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).expect("it can be renamed");
        let refused = log.write_line("two").map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::NotFound));
        log.flush().expect("it can be written");
        assert_eq!(fs::read_to_string(&moved).expect("text"), "one\ntwo\n");
    }

    #[test]
    fn a_file_that_was_renamed_is_opened_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        let mut log = LogFile::open(&path, Rotation::default()).expect("it can be opened");
        write(&mut log, &["one"]);
        fs::rename(&path, folder.path().join("moved.log")).expect("it can be renamed");
        write(&mut log, &["two"]);
        log.reopen().expect("it can be opened");
        write(&mut log, &["three"]);
        let expected = [("audit.log", "three\n"), ("moved.log", "one\ntwo\n")];
        assert_eq!(files(folder.path()), pairs(&expected));
    }
}
