//! Language of the test scripts.
//!
//! ```text
//! put KEY [VALUE] [lease=N] [prev] [ignore-value] [ignore-lease]
//! del KEY [END] [prev]
//! get KEY [END] [at=N] [limit=N] [keys-only] [count-only] [by=TARGET] [desc]
//!         [min-mod=N] [max-mod=N] [min-create=N] [max-create=N]
//! txn [if COMPARE , …] then OP ; … [else OP ; …]     an OP may be: txn ( … )
//!         COMPARE: version|create|mod|value|lease KEY [END] =|!=|<|> GIVEN
//! compact N · sweep N · grant ID TTL · revoke ID · leases · revision · reload
//! watch KEY [END] from=N [no-put] [no-delete] [prev] [max=N]
//! max-txn-ops N
//! ```
//!
//! Options stand in this order. `\0` is a zero byte and `""` is empty; words are separated by blanks.

use std::collections::VecDeque;

use bytes::Bytes;
use lockstep_mvcc::{
    Bounds, Budget, Code, Command, Compare, Comparison, Content, DeleteRange, Filters, Key,
    KeyRange, LeaseId, LeaseTtl, Limits, Machine, Op, Predicate, Previous, Put, PutLease, PutValue,
    Range, RequestError, Revision, Sort, SortOrder, SortTarget, Txn, WatchSelector,
};

use crate::show;

/// Error in a script, as opposed to an error of the machine.
type Problem = String;

pub(crate) fn run(
    machine: &mut Machine,
    limits: &mut Limits,
    line: &str,
) -> Result<String, Problem> {
    let mut words = Words(line.split_whitespace().map(str::to_owned).collect());
    let output = run_words(machine, limits, &mut words)?;
    match words.0.front() {
        Some(word) => Err(format!("`{word}` was not expected")),
        None => Ok(output),
    }
}

fn run_words(
    machine: &mut Machine,
    limits: &mut Limits,
    words: &mut Words,
) -> Result<String, Problem> {
    let verb = words.next("a command")?;
    let command = match verb.as_str() {
        "get" => {
            let range = match words.range()? {
                Ok(range) => machine.range(&range),
                Err(error) => return Ok(refusal(error.code(), &error)),
            };
            return Ok(match range {
                Ok(answer) => show::range(&answer),
                Err(error) => refusal(error.code(), &error),
            });
        }
        "watch" => return words.watch(machine),
        "revision" => return Ok(format!("{}\n", machine.revision())),
        "sweep" => return Ok(format!("{:?}\n", machine.sweep(words.number("sweep")?))),
        "leases" => return Ok(leases(machine)),
        "reload" => {
            *machine = Machine::decode(&machine.encode()).map_err(|error| error.to_string())?;
            return Ok(String::new());
        }
        "max-txn-ops" => {
            limits.txn_ops_max = words.number("ops")?;
            return Ok(String::new());
        }
        verb => words.command(verb, limits)?,
    };
    let command = match command {
        Ok(command) => command,
        Err(error) => return Ok(refusal(error.code(), &error)),
    };
    // A read-only transaction gives the same response through both entry points.
    if let Command::Txn(txn) = &command
        && let Some(read) = txn.as_read_only()
    {
        let answer = machine.read_txn(read);
        let applied = machine.apply(command.clone()).response;
        return Ok(match answer {
            Ok(answer) => {
                assert_eq!(
                    applied.map(|answer| show::response(&answer)),
                    Ok(show::txn(&answer))
                );
                show::txn(&answer)
            }
            Err(error) => {
                assert_eq!(applied, Err(error.into()));
                refusal(error.code(), &error)
            }
        });
    }
    Ok(match machine.apply(command).response {
        Ok(answer) => show::response(&answer),
        Err(error) => refusal(error.code(), &error),
    })
}

fn refusal(code: Code, error: &dyn std::error::Error) -> String {
    format!("{code:?}: {error}\n")
}

fn leases(machine: &Machine) -> String {
    let line = |(id, lease): (LeaseId, &lockstep_mvcc::Lease)| {
        let keys: Vec<_> = lease.keys().map(show::bytes).collect();
        format!(
            "{id}: {} s, keys [{}]\n",
            lease.ttl_seconds(),
            keys.join(" ")
        )
    };
    machine.leases().map(line).collect()
}

/// Remaining words of a line.
struct Words(VecDeque<String>);

impl Words {
    fn next(&mut self, what: &str) -> Result<String, Problem> {
        self.0.pop_front().ok_or(format!("{what} is missing"))
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, Problem> {
        let word = self.next(what)?;
        word.parse().map_err(|_| format!("`{word}` is no number"))
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.0.front().is_some_and(|next| next == word);
        if found {
            self.0.pop_front();
        }
        found
    }

    fn option(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        let found = self.0.front().and_then(|word| word.strip_prefix(name));
        let Some(number) = found.and_then(|rest| rest.strip_prefix('=')) else {
            return Ok(None);
        };
        let number = number.parse().map_err(|_| format!("{name} is no number"));
        self.0.pop_front();
        number.map(Some)
    }

    fn revision(&mut self, name: &str) -> Result<Option<Revision>, Problem> {
        Ok(self.option(name)?.map(Revision))
    }

    fn bytes(&mut self, what: &str) -> Result<Bytes, Problem> {
        let word = self.next(what)?;
        Ok(match word.as_str() {
            "\"\"" => Bytes::new(),
            word => word.replace("\\0", "\0").into(),
        })
    }

    /// A word that is neither an option nor punctuation.
    fn plain(&mut self) -> Result<Option<Bytes>, Problem> {
        const RESERVED: &[&str] = &[
            "prev",
            "ignore-value",
            "ignore-lease",
            "keys-only",
            "count-only",
            "desc",
            "no-put",
            "no-delete",
            ";",
            ",",
            "=",
            "!=",
            "<",
            ">",
            "else",
            ")",
        ];
        match self.0.front() {
            Some(word) if RESERVED.contains(&word.as_str()) => Ok(None),
            Some(word) if word.contains('=') => Ok(None),
            Some(_) => self.bytes("a word").map(Some),
            None => Ok(None),
        }
    }

    fn keys(&mut self) -> Result<Result<KeyRange, RequestError>, Problem> {
        let key = self.bytes("a key")?;
        let end = self.plain()?.unwrap_or_default();
        Ok(KeyRange::from_wire(key, end))
    }

    fn command(
        &mut self,
        verb: &str,
        limits: &Limits,
    ) -> Result<Result<Command, RequestError>, Problem> {
        Ok(match verb {
            "put" => self.put()?.map(Command::Put),
            "del" => self.delete()?.map(Command::DeleteRange),
            "txn" => self
                .txn()?
                .and_then(|txn| txn.check(limits.txn_ops_max))
                .map(Command::Txn),
            "compact" => Ok(Command::Compact {
                at: Revision(self.number("a revision")?),
            }),
            "grant" => {
                let id = LeaseId(self.number("an id")?);
                let ttl = LeaseTtl(self.number("a TTL")?).granted(limits);
                ttl.map(|ttl_seconds| Command::LeaseGrant { id, ttl_seconds })
            }
            "revoke" => Ok(Command::LeaseRevoke {
                id: LeaseId(self.number("an id")?),
            }),
            verb => return Err(format!("unknown command `{verb}`")),
        })
    }

    fn previous(&mut self) -> Previous {
        if self.eat("prev") {
            Previous::Return
        } else {
            Previous::Omit
        }
    }

    fn put(&mut self) -> Result<Result<Put, RequestError>, Problem> {
        let key = self.bytes("a key")?;
        let value = self.plain()?.unwrap_or_default();
        let lease = self.option("lease")?.unwrap_or_default();
        let lease = LeaseId(i64::try_from(lease).map_err(|error| error.to_string())?);
        let previous = self.previous();
        let value = PutValue::from_wire(value, self.eat("ignore-value"));
        let lease = PutLease::from_wire(lease, self.eat("ignore-lease"));
        let put = |key, value, lease| Put {
            key,
            value,
            lease,
            previous,
        };
        Ok(Key::new(key).and_then(|key| Ok(put(key, value?, lease?))))
    }

    fn delete(&mut self) -> Result<Result<DeleteRange, RequestError>, Problem> {
        let keys = self.keys()?;
        let previous = self.previous();
        Ok(keys.map(|keys| DeleteRange { keys, previous }))
    }

    fn range(&mut self) -> Result<Result<Range, RequestError>, Problem> {
        let keys = self.keys()?;
        let at = self.revision("at")?;
        let limit = self.option("limit")?.unwrap_or_default();
        let content = match (self.eat("keys-only"), self.eat("count-only")) {
            (_, true) => Content::CountOnly,
            (true, false) => Content::KeysOnly,
            (false, false) => Content::Full,
        };
        let sort = self.sort()?;
        let mod_revisions = self.bounds("mod")?;
        let create_revisions = self.bounds("create")?;
        Ok(keys.map(|keys| Range {
            keys,
            at,
            limit: usize::try_from(limit).unwrap(),
            sort,
            content,
            mod_revisions,
            create_revisions,
        }))
    }

    fn sort(&mut self) -> Result<Option<Sort>, Problem> {
        let target = self.0.front().and_then(|word| word.strip_prefix("by="));
        let target = match target {
            None => return Ok(None),
            Some("key") => SortTarget::Key,
            Some("version") => SortTarget::Version,
            Some("create") => SortTarget::CreateRevision,
            Some("mod") => SortTarget::ModRevision,
            Some("value") => SortTarget::Value,
            Some(target) => return Err(format!("unknown target `{target}`")),
        };
        self.0.pop_front();
        let order = if self.eat("desc") {
            SortOrder::Descend
        } else {
            SortOrder::Ascend
        };
        Ok(Some(Sort { target, order }))
    }

    fn bounds(&mut self, of: &str) -> Result<Bounds, Problem> {
        Ok(Bounds {
            min: self.revision(&format!("min-{of}"))?.unwrap_or_default(),
            max: self.revision(&format!("max-{of}"))?.unwrap_or_default(),
        })
    }

    fn txn(&mut self) -> Result<Result<Txn, RequestError>, Problem> {
        let mut txn = Txn::default();
        let mut refused = None;
        if self.eat("if") {
            loop {
                match self.compare()? {
                    Ok(compare) => txn.compares.push(compare),
                    Err(error) => refused = refused.or(Some(error)),
                }
                if !self.eat(",") {
                    break;
                }
            }
        }
        for (word, ops) in [("then", &mut txn.success), ("else", &mut txn.failure)] {
            if !self.eat(word) {
                continue;
            }
            loop {
                match self.op()? {
                    Ok(op) => ops.push(op),
                    Err(error) => refused = refused.or(Some(error)),
                }
                if !self.eat(";") {
                    break;
                }
            }
        }
        Ok(refused.map_or(Ok(txn), Err))
    }

    fn op(&mut self) -> Result<Result<Op, RequestError>, Problem> {
        let verb = self.next("an operation")?;
        Ok(match verb.as_str() {
            "get" => self.range()?.map(Op::Range),
            "put" => self.put()?.map(Op::Put),
            "del" => self.delete()?.map(Op::DeleteRange),
            "txn" => {
                let opened = self.eat("(");
                let txn = self.txn()?;
                if !opened || !self.eat(")") {
                    return Err("a nested txn stands in ( )".to_owned());
                }
                txn.map(Op::Txn)
            }
            verb => return Err(format!("unknown operation `{verb}`")),
        })
    }

    fn compare(&mut self) -> Result<Result<Compare, RequestError>, Problem> {
        let target = self.next("a target")?;
        let keys = self.keys()?;
        let comparison = match self.next("a comparison")?.as_str() {
            "=" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            ">" => Comparison::Greater,
            other => return Err(format!("unknown comparison `{other}`")),
        };
        let predicate = match target.as_str() {
            "version" => Predicate::Version(self.number("a version")?),
            "create" => Predicate::CreateRevision(self.number("a revision")?),
            "mod" => Predicate::ModRevision(self.number("a revision")?),
            "value" => Predicate::Value(self.bytes("a value")?),
            "lease" => Predicate::Lease(LeaseId(self.number("a lease")?)),
            other => return Err(format!("unknown target `{other}`")),
        };
        Ok(keys.map(|keys| Compare {
            keys,
            comparison,
            predicate,
        }))
    }

    fn watch(&mut self, machine: &Machine) -> Result<String, Problem> {
        let keys = self.keys()?.map_err(|error| error.to_string())?;
        let from = self.revision("from")?.ok_or("from= is missing")?;
        let filters = Filters {
            no_put: self.eat("no-put"),
            no_delete: self.eat("no-delete"),
        };
        let previous = self.previous();
        let max = self
            .option("max")?
            .map_or(usize::MAX, |max| usize::try_from(max).unwrap());
        let selector = WatchSelector {
            keys,
            filters,
            previous,
        };
        let budget = Budget {
            events_max: max,
            changes_max: usize::MAX,
            bytes_max: usize::MAX,
        };
        Ok(match machine.events(&selector, from, budget) {
            Ok(batch) => show::batch(&batch),
            Err(error) => format!("canceled, compacted {}: {error}\n", error.compacted),
        })
    }
}
