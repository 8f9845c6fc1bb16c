public import Foundation
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// Sends notifications to Apple devices with one signing key, in one environment.
///
/// Uses few connections, each with as many concurrent requests as the server allows; further requests wait in a bounded
/// queue. A request is only sent again, on another connection, if the server says that it did not process it (GOAWAY,
/// REFUSED_STREAM).
public final class APNsClient: Service {
    private let configuration: APNsConfiguration
    private let loop: any EventLoop
    private let now: @Sendable () -> Date
    private let pool: NIOLoopBoundBox<APNsPool>

    /// - Throws: If the configuration's certificates cannot be read.
    public convenience init(
        _ configuration: APNsConfiguration, key: APNsKey, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) throws {
        try self.init(configuration, token: APNsProviderToken(key), logger: logger, now: now)
    }

    init(
        _ configuration: APNsConfiguration, token: APNsProviderToken, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.configuration = configuration
        self.now = now
        loop = MultiThreadedEventLoopGroup.singleton.next()
        let pool = APNsPool(configuration, token, try APNsConnector(configuration, on: loop), now: now, logger: logger)
        self.pool = NIOLoopBoundBox.makeBoxSendingValue(pool, eventLoop: loop)
    }

    /// Sends a notification and returns its outcome, at the latest after `waitLimit` and `answerLimit`.
    ///
    /// Cancellation only affects a notification that is still waiting; it is then not sent. After sending, the answer
    /// is awaited.
    public func send(_ notification: APNsNotification) async -> PushOutcome {
        if let fault = notification.fault { return .failed(fault.meaning(at: now()), reason: fault.reason.rawValue) }
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

    /// Runs until the service group shuts down, then shuts the client down.
    public func run() async throws {
        try? await gracefulShutdown()
        await shutDown()
    }

    /// Refuses new notifications, waits for the answers to those already sent, and closes the connections.
    public func shutDown() async {
        let done = loop.makePromise(of: Void.self)
        loop.execute { self.pool.value.shutDown(done) }
        try? await done.futureResult.get()
    }
}

extension APNsMessageFault {
    fileprivate func meaning(at time: Date) -> PushFailure.Meaning {
        self == .invalidDeviceToken ? .deviceGone(unlessRegisteredSince: time) : .messageRejected
    }
}
