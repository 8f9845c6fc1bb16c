import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// Keeps the addresses of all upstreams and their health up to date.
///
/// Resolves names every five seconds and checks addresses every second. An address starts as healthy, becomes unhealthy
/// after two consecutive failures and healthy again after one success.
struct UpstreamMonitor: Sendable {
    /// In the order of the sorted upstream names.
    let upstreams: [[UpstreamTarget]]
    let names: [String]
    let healthPath: String?
    let client: HTTPClient
    let group: any EventLoopGroup
    let logger: Logger

    private static let checkTimeout = TimeAmount.seconds(2)
    /// A round is one check of all addresses.
    private static let roundsPerResolution = 5
    private static let failuresUntilUnhealthy = 2

    /// The addresses of every upstream. A name that cannot be resolved contributes none.
    func resolve() async -> [[SocketAddress]] {
        var all: [[SocketAddress]] = []
        for (name, targets) in zip(names, upstreams) {
            var addresses: [SocketAddress] = []
            for target in targets {
                do {
                    for address in try await target.resolve() where !addresses.contains(address) {
                        addresses.append(address)
                    }
                } catch {
                    logger.warning(
                        "Could not resolve an upstream name; retrying.",
                        metadata: ["upstream": "\(name)", "host": "\(target.name)"])
                }
            }
            all.append(addresses)
        }
        return all
    }

    /// Checks until cancelled and publishes the result whenever it changes.
    func follow(_ first: [[SocketAddress]], _ publish: @Sendable ([[UpstreamAddress]]) async -> Void) async {
        var addresses = first
        var failures: [SocketAddress: Int] = [:]
        var published: [[UpstreamAddress]] = []
        var round = 0
        while !Task.isCancelled {
            if round > 0, round % Self.roundsPerResolution == 0 {
                // A result without addresses is a failure of the resolver, not of the upstream.
                addresses = zip(addresses, await resolve()).map { $1.isEmpty ? $0 : $1 }
            }
            round += 1
            await check(addresses, &failures)
            let found = addresses.map { list in
                list.map {
                    UpstreamAddress(address: $0, isHealthy: failures[$0, default: 0] < Self.failuresUntilUnhealthy)
                }
            }
            if found != published {
                logChanges(from: published, to: found)
                published = found
                await publish(found)
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func check(_ addresses: [[SocketAddress]], _ failures: inout [SocketAddress: Int]) async {
        let all = Set(addresses.joined())
        failures = failures.filter { all.contains($0.key) }
        await withTaskGroup(of: (SocketAddress, Bool).self) { group in
            for address in all { group.addTask { (address, await isHealthy(address)) } }
            for await (address, isHealthy) in group {
                failures[address] = isHealthy ? 0 : failures[address, default: 0] + 1
            }
        }
    }

    private func isHealthy(_ address: SocketAddress) async -> Bool {
        guard let healthPath else { return await opens(address) }
        guard let url = Self.url(of: address, path: healthPath) else { return false }
        var request = HTTPClientRequest(url: url)
        // Uses a new connection each time, to check that one can be opened.
        request.headers.add(name: "connection", value: "close")
        guard let response = try? await client.execute(request, timeout: Self.checkTimeout) else { return false }
        _ = try? await response.body.collect(upTo: 64 * 1024)
        return (200..<300).contains(response.status.code)
    }

    static func url(of address: SocketAddress, path: String) -> String? {
        if let socket = address.pathname {
            // AsyncHTTPClient's format: the percent-encoded path in place of the host.
            return "http+unix://\(socket.utf8.map { ($0 < 16 ? "%0" : "%") + String($0, radix: 16) }.joined())\(path)"
        }
        guard address.port != nil else { return nil }
        return "http://\(address.configured)\(path)"
    }

    private func opens(_ address: SocketAddress) async -> Bool {
        let bootstrap = ClientBootstrap(group: group).connectTimeout(Self.checkTimeout)
        guard let channel = try? await bootstrap.connect(to: address).get() else { return false }
        try? await channel.close()
        return true
    }

    private func logChanges(from old: [[UpstreamAddress]], to found: [[UpstreamAddress]]) {
        for (index, name) in names.enumerated() {
            for address in found[index] {
                let known = index < old.count ? old[index].first { $0.address == address.address } : nil
                guard known?.isHealthy ?? true != address.isHealthy else { continue }
                logger.warning(
                    address.isHealthy ? "An upstream is healthy again." : "An upstream is not healthy.",
                    metadata: ["upstream": "\(name)", "upstream.address": "\(address.address.configured)"])
            }
        }
    }
}
