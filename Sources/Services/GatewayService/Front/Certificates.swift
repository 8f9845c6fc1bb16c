import Foundation
import Logging
import Metrics
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
    /// When the certificate in use expires, in seconds since 1970.
    private let expiry = Gauge(label: "martlet_gateway_certificate_expires_seconds")

    init(_ files: GatewayConfiguration.TLS) throws {
        self.files = files
        let (context, expires) = try Self.load(files)
        state = Mutex(State(context: context, contents: Self.contents(files)))
        expiry.record(expires)
    }

    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Checks the files once a second until cancelled. If certificate and key do not match, the previous pair stays in
    /// use.
    func watch(_ logger: Logger) async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let contents = Self.contents(files)
            guard contents != state.withLock({ $0.contents }) else { continue }
            do {
                let (context, expires) = try Self.load(files)
                expiry.record(expires)
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

    /// The server's own certificate is the first of its file.
    private static func load(_ files: GatewayConfiguration.TLS) throws -> (context: NIOSSLContext, expires: Int) {
        let certificates = try NIOSSLCertificate.fromPEMFile(files.certificateFile)
        let key = try NIOSSLPrivateKey(file: files.keyFile, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.minimumTLSVersion = .tlsv12
        return (try NIOSSLContext(configuration: configuration), certificates.first.map { Int($0.notValidAfter) } ?? 0)
    }
}
