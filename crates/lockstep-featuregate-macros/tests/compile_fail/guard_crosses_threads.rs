//! cannot be sent between threads safely
use lockstep_featuregate::testing::GateGuard;

fn hands_over(guard: GateGuard) {
    std::thread::spawn(move || drop(guard));
}

fn main() {}
