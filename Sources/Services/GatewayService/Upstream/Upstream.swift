import NIOCore

/// The addresses of one upstream, as seen by one event loop.
final class Upstream {
    let name: String
    private(set) var backends: [Backend] = []
    private let eventLoop: any EventLoop
    private let settings: Settings
    private var nextIndex = 0

    init(name: String, eventLoop: any EventLoop, settings: Settings) {
        self.name = name
        self.eventLoop = eventLoop
        self.settings = settings
    }

    /// Keeps the state of addresses that remain and retires the others.
    func replace(_ addresses: [UpstreamAddress]) {
        let old = backends
        backends = addresses.map { address in
            let known = old.first { $0.address == address.address }
            let backend = known ?? Backend(address.address, eventLoop: eventLoop, settings: settings)
            backend.record(isHealthy: address.isHealthy)
            return backend
        }
        for backend in old where !backends.contains(where: { $0 === backend }) { backend.retire() }
    }

    /// The available address with the fewest requests in flight, rotating among equals.
    ///
    /// If no healthy address is available, unhealthy ones are tried: the check may be wrong, and an actual refusal is
    /// more informative.
    func choose(excluding tried: [Backend], at now: NIODeadline) -> Backend? {
        choose(excluding: tried, at: now, healthy: true) ?? choose(excluding: tried, at: now, healthy: false)
    }

    /// Whether there is a healthy address that may be used now.
    func hasHealthy(excluding tried: [Backend], at now: NIODeadline) -> Bool {
        backends.contains { isUsable($0, excluding: tried, at: now, healthy: true) }
    }

    private func isUsable(_ backend: Backend, excluding tried: [Backend], at now: NIODeadline, healthy: Bool) -> Bool {
        backend.isHealthy == healthy && backend.isAvailable(at: now) && !tried.contains { $0 === backend }
    }

    private func choose(excluding tried: [Backend], at now: NIODeadline, healthy: Bool) -> Backend? {
        var best: Backend?
        nextIndex = backends.isEmpty ? 0 : (nextIndex + 1) % backends.count
        for offset in backends.indices {
            let backend = backends[(nextIndex + offset) % backends.count]
            guard isUsable(backend, excluding: tried, at: now, healthy: healthy) else { continue }
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

/// An upstream address and the result of its health checks.
struct UpstreamAddress: Sendable, Equatable {
    var address: SocketAddress
    var isHealthy: Bool
}

extension SocketAddress {
    /// The address in the format of the configuration, for logs: `10.0.0.1:80`, `[::1]:80` or `unix:/path`.
    var configured: String {
        if let pathname { return "unix:" + pathname }
        let host = ipAddress ?? "?"
        return "\(host.contains(":") ? "[\(host)]" : host):\(port ?? 0)"
    }
}
