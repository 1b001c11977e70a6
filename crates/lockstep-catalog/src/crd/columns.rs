//! Table columns from `additionalPrinterColumns`.

use lockstep_object::Value;
use lockstep_object::json_path::JsonPath;
use lockstep_object::table::ColumnType;

use super::DefinedVersion;
use crate::{Cell, Column, Columns};

/// Table columns of a version: the name and the additional printer columns, or name and age if there are none.
/// If one printer column is invalid, all are ignored: a table with a missing column would be misread.
pub(super) fn columns(version: DefinedVersion<'_>) -> Columns {
    let asked: Option<Vec<Column>> = version.printer_columns().iter().map(column).collect();
    match asked {
        Some(asked) if !asked.is_empty() => {
            Columns::new(std::iter::once(Column::name()).chain(asked).collect())
        }
        _ => Columns::new(vec![Column::name(), age()]),
    }
}

fn column(asked: &Value) -> Option<Column> {
    let text = |field: &str| asked[field].as_str().unwrap_or_default();
    let path: JsonPath = text("jsonPath").parse().ok()?;
    let column_type = ColumnType::named(text("type"))?;
    Some(Column {
        name: text("name").into(),
        column_type: text("type").into(),
        format: text("format").into(),
        description: description(text("description"), text("jsonPath")),
        priority: asked["priority"].as_i64().unwrap_or_default(),
        cell: Cell::Path(path, column_type),
    })
}

fn description(asked: &str, path: &str) -> Box<str> {
    match asked {
        "" => format!("Custom resource definition column (in JSONPath format): {path}").into(),
        asked => asked.into(),
    }
}

/// The `Age` column of custom resources, which has the type `date` like other dates of a CRD.
fn age() -> Column {
    let path = ".metadata.creationTimestamp".parse();
    let path = path.expect("the path is a good one");
    Column {
        column_type: "date".into(),
        cell: Cell::Path(path, ColumnType::Date),
        ..Column::age()
    }
}
