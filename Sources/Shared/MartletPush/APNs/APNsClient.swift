public import Foundation
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// Sends messages to Apple devices: one app developer's key, one environment.
///
/// Over few connections, each with as many requests under way as the server allows; what does not fit waits in a
/// bounded queue. What a server says it has not worked on (GOAWAY, REFUSED_STREAM) is sent again by another connection;
/// nothing else ever is.
public final class APNsClient: Service {
    private let configuration: APNsConfiguration
    private let loop: any EventLoop
    private let pool: NIOLoopBoundBox<APNsPool>

    /// - Throws: when the configuration's certificates cannot be read.
    public convenience init(
        _ configuration: APNsConfiguration, key: APNsKey, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        try self.init(configuration, token: APNsProviderToken(key), logger: logger, now: now)
    }

    init(
        _ configuration: APNsConfiguration, token: APNsProviderToken, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.configuration = configuration
        loop = MultiThreadedEventLoopGroup.singleton.next()
        let pool = APNsPool(configuration, token, try APNsConnector(configuration, on: loop), now: now, logger: logger)
        self.pool = NIOLoopBoundBox.makeBoxSendingValue(pool, eventLoop: loop)
    }

    /// Returns when the message's fate is known, at the latest when waiting and answering have taken as long as they
    /// may.
    ///
    /// Cancelling takes effect while the message waits: then it has not been sent. Once it has left its answer is
    /// waited for.
    public func send(_ notification: APNsNotification) async -> PushOutcome {
        if let fault = notification.fault { return .failed(fault.meaning, reason: fault.reason.rawValue) }
        let ticket = APNsTicket()
        let request = APNsRequest(notification: notification, ticket: ticket, expires: .now() + configuration.waitLimit)
        return await withTaskCancellationHandler {
            await ticket.wait { loop.execute { self.pool.value.enqueue(request) } }
        } onCancel: {
            ticket.cancel()
            loop.execute { self.pool.value.lookForCancelled() }
        }
    }

    public func status() async -> APNsStatus {
        (try? await loop.submit { self.pool.value.status }.get())
            ?? APNsStatus(connections: 0, openedConnections: 0, inFlight: 0, waiting: 0)
    }

    /// Shuts the client down when the service group is.
    public func run() async throws {
        try? await gracefulShutdown()
        await shutDown()
    }

    /// Takes no more, waits for the answers to what has been sent, closes the connections.
    public func shutDown() async {
        let done = loop.makePromise(of: Void.self)
        loop.execute { self.pool.value.shutDown(done) }
        try? await done.futureResult.get()
    }
}

extension APNsMessageFault {
    fileprivate var meaning: PushFailure.Meaning {
        self == .invalidDeviceToken ? .deviceGone(unlessRegisteredSince: Date()) : .messageRejected
    }
}
