//! Differences of two texts, line by line.

/// Lines around a difference.
const CONTEXT: usize = 3;
/// Most pairs of lines that are compared; larger texts are shown as replaced.
const PAIRS_MAX: usize = 25_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Old,
    New,
}

/// The differing lines with a few lines around them; empty if there are none.
pub(super) fn lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let marked = marked(&old, &new);
    let changed = |at: usize| marked.get(at).is_some_and(|(mark, _)| *mark != Mark::Same);
    let mut text = String::new();
    let mut was_shown = true;
    for (at, (mark, line)) in marked.iter().enumerate() {
        let around = at.saturating_sub(CONTEXT)..=at + CONTEXT;
        let is_shown = around.into_iter().any(changed);
        if is_shown {
            if !was_shown {
                text.push_str("@@\n");
            }
            let sign = match mark {
                Mark::Same => ' ',
                Mark::Old => '-',
                Mark::New => '+',
            };
            text.push_str(&format!("{sign}{line}\n"));
        }
        was_shown = is_shown;
    }
    text
}

/// All lines of both texts; the longest common part is marked as the same.
fn marked<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let start = old
        .iter()
        .zip(new)
        .take_while(|(old, new)| old == new)
        .count();
    let (head, old, new) = (&old[..start], &old[start..], &new[start..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let tail = &old[old.len() - end..];
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let same = |lines: &[&'a str]| {
        lines
            .iter()
            .map(|line| (Mark::Same, *line))
            .collect::<Vec<_>>()
    };
    [same(head), between(old, new), same(tail)].concat()
}

fn between<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let gone = old.iter().map(|line| (Mark::Old, *line));
    let come = new.iter().map(|line| (Mark::New, *line));
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        return gone.chain(come).collect();
    }
    // Lengths of the longest common subsequences of what remains.
    let mut lengths = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (i, left) in old.iter().enumerate().rev() {
        for (j, right) in new.iter().enumerate().rev() {
            lengths[i][j] = if left == right {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut marked = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            marked.push((Mark::Same, old[i]));
            i += 1;
            j += 1;
        } else if j == new.len() || i < old.len() && lengths[i + 1][j] >= lengths[i][j + 1] {
            marked.push((Mark::Old, old[i]));
            i += 1;
        } else {
            marked.push((Mark::New, new[j]));
            j += 1;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_those_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nK\nl\n";
        assert_eq!(
            lines(old, new),
            " a\n-b\n+B\n c\n d\n e\n@@\n h\n i\n j\n-k\n+K\n+l\n"
        );
        assert_eq!(lines(old, old), "");
    }
}
