//! Many clients at once.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures::future::try_join_all;

use crate::client::{Call, Client};
use crate::server::Server;

/// Connections to one server.
pub(crate) struct Clients(Vec<Rc<Client>>);

impl Clients {
    pub(crate) async fn connect(server: &Server, count: usize) -> anyhow::Result<Self> {
        let connecting = (0..count).map(|_| Client::connect(server.port));
        let clients = try_join_all(connecting).await?;
        Ok(Self(clients.into_iter().map(Rc::new).collect()))
    }

    pub(crate) fn first(&self) -> &Client {
        &self.0[0]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> + Clone {
        self.0.iter().map(Rc::as_ref)
    }

    /// The first of them alone.
    pub(crate) fn alone(&self) -> Self {
        Self(self.0.iter().take(1).cloned().collect())
    }

    /// Sends `count` calls, each client one after another, and says what one cost the server.
    pub(crate) async fn cost(
        &self,
        server: &Server,
        count: usize,
        call: impl Fn(usize) -> Call,
    ) -> anyhow::Result<Duration> {
        let before = server.processor_time()?;
        self.send(count, call).await?;
        let used = server.processor_time()?.saturating_sub(before);
        Ok(used / u32::try_from(count)?.max(1))
    }

    /// Sends `count` calls, each client one after another.
    pub(crate) async fn send(
        &self,
        count: usize,
        call: impl Fn(usize) -> Call,
    ) -> anyhow::Result<()> {
        let next = Cell::new(0);
        let (next, call) = (&next, &call);
        let working = self.0.iter().map(|client| async move {
            loop {
                let number = next.get();
                if number >= count {
                    return anyhow::Ok(());
                }
                next.set(number + 1);
                client.send(&call(number)).await?;
            }
        });
        try_join_all(working).await?;
        Ok(())
    }
}
