//! Table columns, built once for each version of a kind.

use std::fmt;
use std::sync::LazyLock;

use lockstep_object::json_path::JsonPath;
use lockstep_object::metadata::Seconds;
use lockstep_object::table::{self, ColumnType};
use lockstep_object::{Object, Value, json};

/// The cell of an absent or malformed timestamp.
const UNKNOWN: &str = "<unknown>";

/// Table columns of one version of a kind.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<Column>,
    /// The encoded `columnDefinitions`.
    definitions: Vec<u8>,
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The title.
    pub name: Box<str>,
    /// The `OpenAPI` type of the cells.
    pub column_type: Box<str>,
    /// The `OpenAPI` format; `name` marks the column with the name of the object.
    pub format: Box<str>,
    /// The description.
    pub description: Box<str>,
    /// The priority: 0 is always shown, higher values only by `-o wide`.
    pub priority: i64,
    /// The source of the cells.
    pub cell: Cell,
}

/// The source of a column's cells.
#[derive(Clone)]
pub enum Cell {
    /// A JSON path into the object.
    Path(JsonPath, ColumnType),
    /// A function of the object and the current time.
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
    /// The `Name` column, the first one of nearly every table.
    pub fn name() -> Self {
        Self {
            format: "name".into(),
            ..Self::computed("Name", "The name, unique in its namespace.", |object, _| {
                object.name().into()
            })
        }
    }

    /// The `Age` column, the last one of most tables.
    pub fn age() -> Self {
        let description = "How long ago it was created.";
        Self::computed("Age", description, |object, now| {
            age(object.metadata().get("creationTimestamp"), now)
        })
    }

    /// The `Created At` column.
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

    /// A string column computed from the object.
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

    /// Restricts the column to `-o wide`.
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
    /// Encodes the definitions of these columns.
    pub fn new(columns: Vec<Column>) -> Self {
        let definitions = columns.iter().map(Column::definition).collect();
        let definitions = json::encode(&Value::Array(definitions));
        Self {
            columns,
            definitions,
        }
    }

    /// Default columns of kinds without their own.
    pub fn name_and_age() -> &'static Self {
        static COLUMNS: LazyLock<Columns> =
            LazyLock::new(|| Columns::new(vec![Column::name(), Column::age()]));
        &COLUMNS
    }

    /// The encoded `columnDefinitions`.
    pub fn definitions(&self) -> &[u8] {
        &self.definitions
    }

    /// Computes the cells of an object.
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

/// Formats the age of a timestamp as `kubectl get` shows it.
pub fn age(then: Option<&Value>, now: Seconds) -> Value {
    let then = then.and_then(Value::as_str).unwrap_or_default();
    match then.parse::<Seconds>() {
        Ok(then) => table::age(then, now).into(),
        Err(_) => UNKNOWN.into(),
    }
}
