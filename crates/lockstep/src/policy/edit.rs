//! Changes of a YAML document in its own text, so that comments, order and style of everything else stay.

use lockstep_object::{Value, yaml};
use serde_json::json;

use crate::document;

/// The text of a document after the operations of a JSON patch; none if the text has a form that cannot be edited, such
/// as a change inside of an alias. The result is read again and compared, so that it is what the patch makes.
pub(super) fn edited(text: &str, patch: &[Value], after: &Value) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for operation in patch {
        apply(&mut lines, operation)?;
    }
    let text = lines.join("\n") + "\n";
    let read = yaml::decode(text.as_bytes()).ok()?;
    lockstep_admission::diff::same(&read.value, after).then_some(text)
}

/// Lines of a block mapping or list, and the column of its keys or dashes.
#[derive(Clone, Copy, Debug)]
struct Block {
    from: usize,
    to: usize,
    indent: usize,
}

fn apply(lines: &mut Vec<String>, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str()?;
    let steps = path.split('/').skip(1);
    let steps: Vec<String> = steps
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let (last, parents) = steps.split_last()?;
    let first = lines.iter().position(|line| is_content(line))?;
    let mut block = Block {
        from: first,
        to: lines.len(),
        indent: indent(&lines[first]),
    };
    for step in parents {
        let entry = find(lines, block, step)?;
        block = inside(lines, entry, block.indent)?;
    }
    let found = find(lines, block, last);
    let is_list = lines[block.from][block.indent..].starts_with("- ");
    let value = &operation["value"];
    match (operation["op"].as_str()?, found) {
        ("remove", Some((from, to))) => {
            // A mapping that opens on the line of its dash, or loses its only key, has another form then.
            if from == block.from {
                return None;
            }
            lines.drain(from..to);
        }
        ("replace", Some((from, to)))
            if from > block.from || indent(&lines[from]) == block.indent =>
        {
            let rendered = rendered(last, value, is_list, block.indent);
            lines.splice(from..to, rendered);
        }
        ("add", found) => {
            let at = match found {
                Some((from, _)) if is_list => from,
                Some(_) => return None,
                None => end(lines, block),
            };
            let rendered = rendered(last, value, is_list, block.indent);
            lines.splice(at..at, rendered);
        }
        _ => return None,
    }
    Some(())
}

fn rendered(key: &str, value: &Value, is_list: bool, indent: usize) -> Vec<String> {
    let document = if is_list {
        json!([value])
    } else {
        json!({ key: value })
    };
    let margin = " ".repeat(indent);
    let text = document::to_yaml(&document);
    text.lines().map(|line| format!("{margin}{line}")).collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// True for a line that is neither blank nor a comment.
fn is_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

/// Lines of an entry of a block: from its key or dash to the line before the next one.
fn find(lines: &[String], block: Block, step: &str) -> Option<(usize, usize)> {
    let is_list = lines[block.from].get(block.indent..)?.starts_with("- ");
    let starts = (block.from..block.to).filter(|at| {
        let line = &lines[*at];
        // The first key of an item stands on the line of its dash, and a list may be as far left as its key.
        let is_own = indent(line) == block.indent
            && line
                .get(block.indent..)
                .is_some_and(|line| line.starts_with("- "))
                == is_list;
        is_content(line) && (is_own || *at == block.from)
    });
    let starts: Vec<usize> = starts.collect();
    let wanted = if is_list {
        step.parse().ok().filter(|at: &usize| *at < starts.len())?
    } else {
        starts.iter().position(|at| {
            let content = lines[*at].get(block.indent..).unwrap_or_default();
            key(content).as_deref() == Some(step)
        })?
    };
    let from = starts[wanted];
    let next = starts.get(wanted + 1).copied().unwrap_or(block.to);
    // Comments and blank lines before the next entry are about that one.
    let to = (from + 1..next).rev().find(|at| is_content(&lines[*at]));
    Some((from, to.map_or(from + 1, |to| to + 1)))
}

/// The key at the start of a line.
fn key(content: &str) -> Option<String> {
    let (key, _) = content.split_once(':')?;
    let rest = &content[key.len() + 1..];
    (rest.is_empty() || rest.starts_with(' ')).then(|| key.trim_matches(['"', '\'']).to_owned())
}

/// The block below an entry; none if its value is on the line of the key.
fn inside(lines: &[String], (from, to): (usize, usize), own: usize) -> Option<Block> {
    let line = lines[from].get(own..)?;
    if let Some(content) = line.strip_prefix("- ") {
        let indent = own + 2 + indent(content);
        let is_block = key(content.trim_start()).is_some();
        return is_block.then_some(Block { from, to, indent });
    }
    let after = line.split_once(':')?.1.trim();
    if !after.is_empty() && !after.starts_with('#') {
        return None;
    }
    let first = (from + 1..to).find(|at| is_content(&lines[*at]))?;
    Some(Block {
        from: first,
        to,
        indent: indent(&lines[first]),
    })
}

/// The line after the last entry of a block.
fn end(lines: &[String], block: Block) -> usize {
    let last = (block.from..block.to)
        .rev()
        .find(|at| is_content(&lines[*at]));
    last.map_or(block.to, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_admission::diff::json_patch;

    const TEXT: &str = "# top\nkind: Pod # the kind\n\nmetadata:\n  name: p\n  # labels of the team\n  labels:\n    z: \"1\"\n    a: '2'   # why\nspec:\n  containers:\n  # the app\n  - image: i:1\n    name: a\n    args: [x, y]\n  - {name: b}\nlast: true\n";

    fn change(change: impl FnOnce(&mut Value)) -> Option<String> {
        let before = yaml::decode(TEXT.as_bytes()).unwrap().value;
        let mut after = before.clone();
        change(&mut after);
        edited(TEXT, &json_patch(&before, &after), &after)
    }

    /// ux.md §5
    #[test]
    fn everything_that_does_not_change_stays_as_it_is_written() {
        let found = change(|pod| {
            pod["metadata"]["labels"]["team"] = "payments".into();
            pod["metadata"]["labels"]["z"] = "3".into();
            pod["spec"]["containers"][0]["imagePullPolicy"] = "Always".into();
            pod["last"] = false.into();
            pod["annotations"] = json!({ "b": "c" });
        });
        let expected = "# top\nkind: Pod # the kind\n\nmetadata:\n  name: p\n  # labels of the team\n  labels:\n    z: \"3\"\n    a: '2'   # why\n    team: payments\nspec:\n  containers:\n  # the app\n  - image: i:1\n    name: a\n    args: [x, y]\n    imagePullPolicy: Always\n  - {name: b}\nlast: false\nannotations:\n  b: c\n";
        assert_eq!(found.as_deref(), Some(expected));
        let added = change(|pod| {
            let containers = pod["spec"]["containers"].as_array_mut().unwrap();
            containers.push(json!({ "name": "c" }));
        });
        assert!(
            added
                .unwrap()
                .contains("  - {name: b}\n  - name: c\nlast: true\n")
        );
        let removed = change(|pod| {
            pod["metadata"]["labels"]
                .as_object_mut()
                .unwrap()
                .remove("a");
        });
        assert!(removed.unwrap().contains("    z: \"1\"\nspec:\n"));
    }

    #[test]
    fn forms_that_cannot_be_edited_are_left_to_the_caller() {
        assert_eq!(
            change(|pod| pod["spec"]["containers"][1]["name"] = "c".into()),
            None
        );
        assert_eq!(
            change(|pod| pod["spec"]["containers"][0]["args"][0] = "z".into()),
            None
        );
    }
}
