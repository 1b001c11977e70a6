//! Chores of this repository, run as `cargo xtask`.

fn main() -> anyhow::Result<()> {
    anyhow::bail!("no chore named")
}
