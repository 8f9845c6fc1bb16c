import ServiceLifecycle
import UnixSignals

/// Calls `reload` on every SIGHUP.
struct HangUpService: Service {
    let reload: @Sendable () -> Void

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            for await _ in signals { reload() }
        }
    }
}
