import NIOCore

/// The addresses that serve one upstream name, as one event loop sees them.
final class Upstream {
    let name: String
    private(set) var backends: [Backend] = []
    private let eventLoop: any EventLoop
    private let settings: Settings
    private var turn = 0

    init(name: String, eventLoop: any EventLoop, settings: Settings) {
        self.name = name
        self.eventLoop = eventLoop
        self.settings = settings
    }

    /// Keeps what is known of addresses that stay; connections to others are not used again.
    func replace(_ addresses: [UpstreamAddress]) {
        let old = backends
        backends = addresses.map { address in
            let known = old.first { $0.address == address.address }
            let backend = known ?? Backend(address.address, eventLoop: eventLoop, settings: settings)
            backend.note(isHealthy: address.isHealthy)
            return backend
        }
        for backend in old where !backends.contains(where: { $0 === backend }) { backend.retire() }
    }

    /// The available address with the fewest requests in flight; among equals they take turns.
    ///
    /// When health checks leave none, those that fail them are tried: a check may be wrong, and a refusal tells more.
    func choose(excluding tried: [Backend], at now: NIODeadline) -> Backend? {
        choose(excluding: tried, at: now, healthy: true) ?? choose(excluding: tried, at: now, healthy: false)
    }

    private func choose(excluding tried: [Backend], at now: NIODeadline, healthy: Bool) -> Backend? {
        var best: Backend?
        turn = backends.isEmpty ? 0 : (turn + 1) % backends.count
        for offset in backends.indices {
            let backend = backends[(turn + offset) % backends.count]
            guard backend.isHealthy == healthy, backend.isAvailable(at: now), !tried.contains(where: { $0 === backend }) else { continue }
            if best.map({ backend.inFlight < $0.inFlight }) ?? true { best = backend }
        }
        return best
    }

    func tick(_ now: NIODeadline) {
        for backend in backends { backend.tick(now) }
    }

    func closeIdle() {
        for backend in backends { backend.retire() }
    }
}

/// One address of an upstream and what the health checks say of it.
struct UpstreamAddress: Sendable, Equatable {
    var address: SocketAddress
    var isHealthy: Bool
}

extension SocketAddress {
    /// As in the configuration, `10.0.0.1:80`, `[::1]:80` or `unix:/path`; for logs.
    var configured: String {
        if let pathname { return "unix:" + pathname }
        let host = ipAddress ?? "?"
        return "\(host.contains(":") ? "[\(host)]" : host):\(port ?? 0)"
    }
}
