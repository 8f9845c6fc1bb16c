import Foundation
import Logging
import NIOSSL
import Synchronization

/// The TLS certificate and key, read again when their files change.
///
/// New connections get the new certificate; those that are open keep theirs.
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

    /// Looks at the files once a second, until cancelled. A pair that does not fit keeps the old one in use.
    func watch(_ logger: Logger) async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let contents = Self.contents(files)
            guard contents != state.withLock({ $0.contents }) else { continue }
            do {
                let context = try Self.load(files)
                state.withLock { $0 = State(context: context, contents: contents) }
                logger.info("The TLS certificate was reloaded.")
            } catch {
                // Perhaps only one of the two has been written yet: the next look tries again.
                logger.error("The TLS certificate could not be reloaded; the old one stays.", metadata: ["error": "\(error)"])
            }
        }
    }

    private static func contents(_ files: GatewayConfiguration.TLS) -> [Data?] {
        [files.certificateFile, files.keyFile].map { FileManager.default.contents(atPath: $0) }
    }

    private static func load(_ files: GatewayConfiguration.TLS) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMFile(files.certificateFile).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: files.keyFile, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.minimumTLSVersion = .tlsv12
        return try NIOSSLContext(configuration: configuration)
    }
}
