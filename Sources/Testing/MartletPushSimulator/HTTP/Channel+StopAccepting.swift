package import NIOCore
import NIOPosix

extension Channel {
    /// Makes a listening channel accept no more connections.
    ///
    /// A connection that is accepted while the listener closes would trap the process: nobody would handle it, as
    /// `NIOAsyncWriter` requires (https://github.com/apple/swift-nio/issues/2637).
    package func stopAccepting() async {
        try? await setOption(.autoRead, value: false).get()
        // The next connection is accepted in any case, whenever it arrives. So this opens one now.
        guard let localAddress else { return }
        let last = try? await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(to: localAddress)
            .get()
        try? await last?.close()
    }
}
