import Foundation
import Logging
import NIOSSL
import Synchronization

/// The TLS certificate and key, reloaded when their files change.
///
/// New connections use the new certificate; open connections keep the one they started with.
final class Certificates: Sendable {
    private struct State {
        var context: NIOSSLContext
        var contents: [Data?]
    }

    private let files: GatewayConfiguration.TLS
    private let state: Mutex<State>

    init(_ files: GatewayConfiguration.TLS) throws {
        self.files = files
        state = Mutex(State(context: try Self.load(files), contents: Self.contents(files)))
    }

    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Checks the files once a second until cancelled. If certificate and key do not match, the previous pair stays in
    /// use.
    func watch(_ logger: Logger) async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let contents = Self.contents(files)
            guard contents != state.withLock({ $0.contents }) else { continue }
            do {
                let context = try Self.load(files)
                state.withLock { $0 = State(context: context, contents: contents) }
                logger.info("The TLS certificate was reloaded.")
            } catch {
                // Perhaps only one of the two files has been written yet; the next check tries again.
                logger.error(
                    "Could not reload the TLS certificate; keeping the previous one.", metadata: ["error": "\(error)"])
            }
        }
    }

    private static func contents(_ files: GatewayConfiguration.TLS) -> [Data?] {
        [files.certificateFile, files.keyFile].map { FileManager.default.contents(atPath: $0) }
    }

    private static func load(_ files: GatewayConfiguration.TLS) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMFile(files.certificateFile).map {
            NIOSSLCertificateSource.certificate($0)
        }
        let key = try NIOSSLPrivateKey(file: files.keyFile, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.minimumTLSVersion = .tlsv12
        return try NIOSSLContext(configuration: configuration)
    }
}
