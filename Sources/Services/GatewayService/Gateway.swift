import AsyncHTTPClient
import Foundation
public import Logging
import MartletAPI
import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// The edge of a Martlet server: checks requests and forwards them to the services.
///
/// `run()` serves until graceful shutdown or cancellation. On graceful shutdown it ends streams, hands its port over to
/// another gateway listening there, if any, waits for answers in progress (at most `Timeouts.drain`) and returns.
public final class Gateway: Service {
    private struct State {
        var routes: RouteTable
        var workers: [Worker] = []
        var port: Int?
        var redirectPort: Int?
        var hasKeyRing = false
        var isDraining = false
    }

    private let configuration: GatewayConfiguration
    private let settings: Settings
    private let targets: [[UpstreamTarget]]
    private let certificates: Certificates?
    private let redirect: Redirect?
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads and checks the route file, the addresses and the certificate.
    /// - Throws: `GatewayConfigurationError` that names the problem.
    public init(configuration: GatewayConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        settings = try Settings(configuration, logger: logger)
        targets = try settings.upstreamNames.map { name throws(GatewayConfigurationError) in
            try (configuration.upstreams[name] ?? []).map { text throws(GatewayConfigurationError) in
                try UpstreamTarget(text)
            }
        }
        certificates = try configuration.tls.map { files in
            do {
                return try Certificates(files)
            } catch {
                throw GatewayConfigurationError(
                    "tls: \(files.certificateFile) and \(files.keyFile) cannot be used: \(error)")
            }
        }
        if configuration.redirect != nil, configuration.tls == nil {
            throw GatewayConfigurationError("tls.redirect.port needs tls.certificate and tls.key")
        }
        redirect = try configuration.redirect.map { value throws(GatewayConfigurationError) in try Redirect(value) }
        let file = try RouteFile.read(configuration.routesFile)
        state = Mutex(State(routes: try RouteTable(file, configuration: configuration)))
    }

    /// Whether the gateway listens, has a key ring and is not shutting down.
    public var isReady: Bool { state.withLock { $0.port != nil && $0.hasKeyRing && !$0.isDraining } }

    /// The port in use; nil if the gateway is not listening.
    public var boundPort: Int? { state.withLock { $0.port } }

    /// The port in use that redirects to https; nil if there is none.
    public var boundRedirectPort: Int? { state.withLock { $0.redirectPort } }

    /// Reloads the route file. If it is invalid, logs the error and keeps the previous routes.
    public func reloadRoutes() {
        do {
            let routes = try RouteTable(RouteFile.read(configuration.routesFile), configuration: configuration)
            let workers = state.withLock { state in
                state.routes = routes
                return state.workers
            }
            for worker in workers { worker.eventLoop.execute { worker.routes = routes } }
            logger.info("The routes were reloaded.", metadata: ["routes": "\(routes.routes.count)"])
        } catch {
            logger.error("Could not reload the routes; keeping the previous ones.", metadata: ["error": "\(error)"])
        }
    }

    public func run() async throws {
        let (configured, possible) = (configuration.limits.maximumConnections, settings.limits.maximumConnections)
        if possible < configured {
            logger.warning(
                "The open file limit allows fewer client connections than limit.connections; using the lower number.",
                metadata: ["limit.connections": "\(configured)", "connections": "\(possible)"])
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.eventLoopThreads ?? System.coreCount)
        var clientConfiguration = HTTPClient.Configuration()
        clientConfiguration.timeout.connect = .seconds(2)
        // Feeds, reports and health checks must notice failures at once.
        clientConfiguration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: clientConfiguration)
        do {
            try await serve(on: group, client)
            try await client.shutdown()
            try await group.shutdownGracefully()
        } catch {
            try? await client.shutdown()
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private func serve(on group: MultiThreadedEventLoopGroup, _ client: HTTPClient) async throws {
        let workers = startWorkers(on: group)
        let auth = InternalClient(
            baseURL: configuration.keyRingURL, client: client, signer: settings.signer, now: settings.now)
        let feed = KeyRingFeed(auth: auth, file: KeyRingFile(directory: configuration.stateDirectory), logger: logger)
        let revocations = RevocationFeed(
            auth: auth, file: RevocationFile(directory: configuration.stateDirectory), logger: logger)
        let known = revocations.load()
        await use(known)
        if let ring = feed.file.load() { await use(ring) }
        let monitor = UpstreamMonitor(
            upstreams: targets, names: settings.upstreamNames, healthPath: configuration.healthPath, client: client,
            group: group, logger: logger)
        let addresses = await monitor.resolve()
        await use(addresses.map { $0.map { UpstreamAddress(address: $0, isHealthy: true) } })
        let requests = settings.upstreamNames.firstIndex(of: "analytics").map {
            RequestReport(
                targets: targets[$0], client: client, signer: settings.signer, logger: logger, now: settings.now)
        }
        let ports = try await listen(workers, on: group)
        logger.info("The gateway is listening.", metadata: ["port": "\(boundPort ?? 0)"])

        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await feed.follow { await self.use($0) } }
            tasks.addTask { await revocations.follow(from: known) { await self.use($0) } }
            tasks.addTask { await monitor.follow(addresses) { await self.use($0) } }
            tasks.addTask { await self.reportUses(to: feed) }
            if let requests { tasks.addTask { await requests.follow { await self.takeCounts() } } }
            for feed in generationFeeds(client) {
                tasks.addTask { await feed.feed.follow { await self.use($0, of: feed.upstream) } }
            }
            if let certificates { tasks.addTask { [logger] in await certificates.watch(logger) } }
            try? await gracefulShutdown()
            await drain(ports, on: group)
            tasks.cancelAll()
        }
        await report(to: feed)
        await requests?.report(await takeCounts(), of: RequestReport.minute(of: settings.now()))
        for worker in workers { _ = try? await worker.eventLoop.submit { worker.stop() }.get() }
    }

    private func startWorkers(on group: MultiThreadedEventLoopGroup) -> [Worker] {
        let routes = state.withLock { $0.routes }
        let workers = group.makeIterator().map { Worker(eventLoop: $0, settings: settings, routes: routes) }
        for worker in workers { worker.eventLoop.execute { worker.start() } }
        state.withLock { $0.workers = workers }
        return workers
    }

    /// A listener and its channel.
    private typealias Port = (listener: Listener, server: any Channel)

    /// Opens the public port and, if there is one, the port that redirects to it.
    private func listen(_ workers: [Worker], on group: any EventLoopGroup) async throws -> [Port] {
        func bind(_ listener: Listener, _ port: Int) async throws -> Port {
            let server = try await listener.bind(
                host: configuration.host, port: port, shared: configuration.isPortShared, on: group)
            return (listener, server)
        }
        var ports = [
            try await bind(
                Listener(workers: workers, settings: settings, certificates: certificates), configuration.port)
        ]
        if let redirect, let port = configuration.redirect?.port {
            let listener = Listener(workers: workers, settings: settings, certificates: nil, redirect: redirect)
            ports.append(try await bind(listener, port))
        }
        let numbers = ports.map { $0.server.localAddress?.port }
        state.withLock { state in
            state.port = numbers[0]
            state.redirectPort = numbers.count > 1 ? numbers[1] : nil
        }
        return ports
    }

    // MARK: Updates for the workers

    private var workers: [Worker] { state.withLock { $0.workers } }

    private func use(_ ring: KeyRing) async {
        let index = KeyRingIndex(ring)
        for worker in workers { _ = try? await worker.eventLoop.submit { worker.gatekeeper.ring = index }.get() }
        state.withLock { $0.hasKeyRing = true }
        logger.debug("A key ring is in use.", metadata: ["version": "\(ring.version)"])
    }

    private func use(_ revoked: RevokedSessions) async {
        for worker in workers { _ = try? await worker.eventLoop.submit { worker.gatekeeper.revoked = revoked }.get() }
    }

    private func use(_ addresses: [[UpstreamAddress]]) async {
        for worker in workers {
            _ = try? await worker.eventLoop.submit {
                for (upstream, addresses) in zip(worker.upstreams, addresses) { upstream.replace(addresses) }
            }.get()
        }
    }

    private func use(_ generations: [String: Int64]?, of upstream: Int) async {
        for worker in workers {
            _ = try? await worker.eventLoop.submit { worker.notModifiedCache[upstream].generations = generations }.get()
        }
    }

    /// One feed for each upstream that has a route with a generation path. Routes reloaded later do not change the
    /// feeds.
    private func generationFeeds(_ client: HTTPClient) -> [(upstream: Int, feed: GenerationFeed)] {
        let paths = Dictionary(
            state.withLock { $0.routes }.routes.compactMap { route in
                route.generationPath.map { (route.upstreamIndex, $0) }
            }, uniquingKeysWith: { $1 })
        return paths.map { index, path in
            (
                index,
                GenerationFeed(
                    targets: targets[index], path: path, client: client, signer: settings.signer, logger: logger,
                    now: settings.now)
            )
        }
    }

    // MARK: Use of credentials

    private static let reportInterval = Duration.seconds(60)

    private func reportUses(to feed: KeyRingFeed) async {
        while (try? await Task.sleep(for: Self.reportInterval)) != nil { await report(to: feed) }
    }

    private func report(to feed: KeyRingFeed) async {
        var used: [String: Date] = [:]
        for worker in workers {
            let uses = (try? await worker.eventLoop.submit { worker.gatekeeper.takeCredentialUses() }.get()) ?? [:]
            for (id, seconds) in uses { used[id] = max(used[id] ?? .distantPast, Date(timeIntervalSince1970: seconds)) }
        }
        guard !used.isEmpty else { return }
        do {
            try await feed.report(used)
        } catch {
            logger.warning(
                "Could not report the use of credentials; these uses are lost.", metadata: ["error": "\(error)"])
        }
    }

    private func takeCounts() async -> [RequestCounts.Count] {
        var sums: [[String]: RequestCounts.Count] = [:]
        for worker in workers {
            for count in (try? await worker.eventLoop.submit({ worker.metrics.take() }).get()) ?? [] {
                let key = [count.service, String(count.statusClass)]
                guard var sum = sums[key] else {
                    sums[key] = count
                    continue
                }
                sum.count += count.count
                sum.microseconds += count.microseconds
                sums[key] = sum
            }
        }
        return sums.values.sorted { ($0.service, $0.statusClass) < ($1.service, $1.statusClass) }
    }

    // MARK: Shutdown

    /// Returns when all clients have disconnected or the time limit has passed. Also works after the task was
    /// cancelled.
    ///
    /// Before the port is released, streams end and answers tell clients to use another connection. Connections
    /// accepted until then are served like the others.
    private func drain(_ ports: [Port], on group: any EventLoopGroup) async {
        state.withLock { $0.isDraining = true }
        let isAbrupt = Task.isCancelled
        func sleep(_ time: TimeAmount) async {
            try? await group.any().scheduleTask(in: time) {}.futureResult.get()
        }
        if !isAbrupt { await sleep(settings.drainDelay) }
        let deadline = NIODeadline.now() + settings.drainTimeout
        for worker in workers { _ = try? await worker.eventLoop.submit { worker.drain() }.get() }
        for port in ports {
            if isAbrupt {
                try? await port.server.close().get()
            } else {
                await port.listener.close(port.server, on: group)
            }
        }
        while !isAbrupt, NIODeadline.now() < deadline, await !isIdle { await sleep(.milliseconds(20)) }
        for worker in workers { _ = try? await worker.eventLoop.submit { worker.closeAll() }.get() }
        state.withLock { state in
            state.port = nil
            state.redirectPort = nil
        }
    }

    /// The number of requests that the load limits count as waiting for an answer.
    var awaited: Int {
        get async throws {
            var sum = 0
            for worker in workers {
                sum += try await worker.eventLoop.submit {
                    worker.upstreams.flatMap(\.backends).reduce(0) { $0 + $1.awaited }
                }.get()
            }
            return sum
        }
    }

    /// Whether no client is connected.
    var isIdle: Bool {
        get async {
            for worker in workers where (try? await worker.eventLoop.submit({ worker.isIdle }).get()) == false {
                return false
            }
            return true
        }
    }
}
