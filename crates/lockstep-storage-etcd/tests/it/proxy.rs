//! TCP proxy whose connections a test can cut.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A proxy between a store and a member. Must be used inside a runtime.
pub(crate) struct Proxy {
    address: SocketAddr,
    wires: Arc<Mutex<Wires>>,
    _acceptor: JoinSet<()>,
}

#[derive(Default)]
struct Wires {
    is_cut: bool,
    open: JoinSet<()>,
}

impl Proxy {
    /// To the member at `url`.
    pub(crate) async fn to(url: &str) -> Self {
        let target = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let wires = Arc::new(Mutex::new(Wires::default()));
        let mut acceptor = JoinSet::new();
        acceptor.spawn({
            let wires = wires.clone();
            async move {
                loop {
                    let (near, _) = listener.accept().await.unwrap();
                    let mut wires = wires.lock();
                    if !wires.is_cut {
                        wires.open.spawn(carry(near, target.clone()));
                    }
                }
            }
        });
        Self {
            address,
            wires,
            _acceptor: acceptor,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes all connections, and each new one at once.
    pub(crate) fn cut(&self) {
        let mut wires = self.wires.lock();
        wires.is_cut = true;
        wires.open.abort_all();
    }

    pub(crate) fn mend(&self) {
        self.wires.lock().is_cut = false;
    }
}

async fn carry(mut near: TcpStream, target: String) {
    if let Ok(mut far) = TcpStream::connect(target).await {
        // However it ends, both sides notice.
        _ = copy_bidirectional(&mut near, &mut far).await;
    }
}
