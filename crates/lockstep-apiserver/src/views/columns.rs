//! The columns of a table, made once for each version of a kind.

use std::fmt;
use std::sync::LazyLock;

use lockstep_object::json_path::JsonPath;
use lockstep_object::metadata::Seconds;
use lockstep_object::table::{self, ColumnType};
use lockstep_object::{Object, Value, json};

/// What a cell shows when the time it is about is not known.
const UNKNOWN: &str = "<unknown>";

/// The columns of one version of a kind.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<Column>,
    /// `columnDefinitions` as every table carries them.
    definitions: Vec<u8>,
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its title.
    pub name: Box<str>,
    /// The type of its cells, in the words of OpenAPI.
    pub column_type: Box<str>,
    /// What its texts are; `name` marks the name of the object.
    pub format: Box<str>,
    /// What it tells.
    pub description: Box<str>,
    /// 0 for those that are always shown; others are for `-o wide`.
    pub priority: i64,
    /// Where its cells come from.
    pub cell: Cell,
}

/// Where the cells of a column come from.
#[derive(Clone)]
pub enum Cell {
    /// A place in the object.
    Path(JsonPath, ColumnType),
    /// The object as a whole, and the time.
    Computed(fn(&Object, Seconds) -> Value),
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path, column_type) => write!(f, "{path:?} as {column_type:?}"),
            Self::Computed(_) => f.write_str("computed"),
        }
    }
}

impl Column {
    /// The name of the object; the first column of nearly every table.
    pub fn name() -> Self {
        Self {
            format: "name".into(),
            ..Self::computed("Name", "The name, unique in its namespace.", |object, _| {
                object.name().into()
            })
        }
    }

    /// How long the object exists; the last column of most tables.
    pub fn age() -> Self {
        let description = "How long ago it was created.";
        Self::computed("Age", description, |object, now| {
            age(object.metadata().get("creationTimestamp"), now)
        })
    }

    /// When the object was made.
    pub fn created_at() -> Self {
        let made = |object: &Object, _| {
            let at = object.metadata().get("creationTimestamp");
            at.and_then(Value::as_str).unwrap_or_default().into()
        };
        Self {
            column_type: "date".into(),
            ..Self::computed("Created At", "When it was created.", made)
        }
    }

    /// A text that is worked out.
    pub fn computed(name: &str, description: &str, cell: fn(&Object, Seconds) -> Value) -> Self {
        Self {
            name: name.into(),
            column_type: "string".into(),
            format: "".into(),
            description: description.into(),
            priority: 0,
            cell: Cell::Computed(cell),
        }
    }

    /// The same, for `-o wide` only.
    #[must_use]
    pub fn wide(self) -> Self {
        Self {
            priority: 1,
            ..self
        }
    }

    fn definition(&self) -> Value {
        serde_json::json!({
            "name": &*self.name,
            "type": &*self.column_type,
            "format": &*self.format,
            "description": &*self.description,
            "priority": self.priority,
        })
    }
}

impl Columns {
    /// These columns.
    pub fn new(columns: Vec<Column>) -> Self {
        let definitions = columns.iter().map(Column::definition).collect();
        let definitions = json::encode(&Value::Array(definitions));
        Self {
            columns,
            definitions,
        }
    }

    /// What kinds have that say nothing about it.
    pub fn name_and_age() -> &'static Self {
        static COLUMNS: LazyLock<Columns> =
            LazyLock::new(|| Columns::new(vec![Column::name(), Column::age()]));
        &COLUMNS
    }

    /// `columnDefinitions`, encoded.
    pub(crate) fn definitions(&self) -> &[u8] {
        &self.definitions
    }

    /// The cells of one object.
    pub fn cells(&self, object: &Object, now: Seconds) -> Vec<Value> {
        let cell = |column: &Column| match &column.cell {
            Cell::Path(path, column_type) => {
                table::cell(object.as_value(), path, *column_type, now)
            }
            Cell::Computed(compute) => compute(object, now),
        };
        self.columns.iter().map(cell).collect()
    }
}

/// How long ago a time was.
pub(crate) fn age(then: Option<&Value>, now: Seconds) -> Value {
    let then = then.and_then(Value::as_str).unwrap_or_default();
    match then.parse::<Seconds>() {
        Ok(then) => table::age(then, now).into(),
        Err(_) => UNKNOWN.into(),
    }
}
