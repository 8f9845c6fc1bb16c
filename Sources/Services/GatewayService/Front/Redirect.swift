import Foundation
import MartletAPI
import NIOCore
import NIOPosix

/// What the clear-text port beside the TLS port answers: ACME challenges (RFC 8555 §8.3), and for everything else the
/// https address.
struct Redirect: Sendable {
    /// Without a slash at the end.
    private let publicURL: String
    private let challengeDirectory: String?

    private static let challengePath = "/.well-known/acme-challenge/"
    private static let maximumTokenInBytes = 128

    /// - Throws: `GatewayConfigurationError` if the public address is not an https address.
    init(_ configuration: GatewayConfiguration.Redirect) throws(GatewayConfigurationError) {
        let url = configuration.publicURL
        // The address becomes a header, so it must not contain spaces or control characters.
        guard url.hasPrefix("https://"), url.utf8.count > "https://".utf8.count,
            url.utf8.allSatisfy(ByteSet.query.contains)
        else {
            throw GatewayConfigurationError("public.url must be an https address, because tls.redirect.port is set")
        }
        publicURL = url.hasSuffix("/") ? String(url.dropLast()) : url
        challengeDirectory = configuration.challengeDirectory
    }

    /// The same path and query at the https address.
    /// - Throws: `Refusal` if the request has credentials. A redirect would hide that its client sends them in clear
    ///   text each time.
    func answer(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) throws(Refusal) -> Answer {
        let credentials = [head.secret, head.masterKey, head.authorization, head.apiKey, head.sentryAuth]
        guard credentials.allSatisfy({ $0 < 0 }) else {
            throw Refusal(.forbidden, "Send credentials by https only. These were sent in clear text.")
        }
        return Answer(status: 308, headers: [("location", publicURL + bytes[head.target].text)])
    }

    /// The challenge file at the requested path; nil if the path is not below `challengePath`.
    /// - Throws: 404 for a token that no file can have, and 405.
    func challenge(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) throws(Refusal) -> ChallengeFile? {
        let path = bytes[head.path]
        guard let challengeDirectory, path.starts(with: Self.challengePath.utf8) else { return nil }
        guard head.method == .get || head.method == .head else {
            throw Refusal(.methodNotAllowed, allow: "GET, HEAD")
        }
        let token = UnsafeRawBufferPointer(rebasing: path[Self.challengePath.utf8.count...])
        guard (1...Self.maximumTokenInBytes).contains(token.count), ByteSet.base64URL.containsAll(token) else {
            throw ChallengeFile.missing
        }
        return ChallengeFile(path: challengeDirectory + "/" + token.text)
    }
}

/// The answer to one ACME challenge, written by an ACME client.
struct ChallengeFile: Sendable {
    let path: String

    static let missing = Refusal(.notFound, "There is no such challenge.")
    /// A token, a dot and the digest of a key have 172 bytes at most.
    private static let maximumSizeInBytes = 1024

    /// Reads the file on another thread, because a disk may block. Nil if there is no such file, or if it is a symbolic
    /// link, empty or too large.
    func answer(on eventLoop: any EventLoop) -> EventLoopFuture<Answer?> {
        NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
            read().map {
                Answer(
                    status: 200,
                    headers: [("content-type", "application/octet-stream"), ("cache-control", "no-store")],
                    body: $0)
            }
        }
    }

    private func read() -> [UInt8]? {
        // Without O_NONBLOCK, opening a named pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let content = try? file.read(upToCount: Self.maximumSizeInBytes + 1), !content.isEmpty,
            content.count <= Self.maximumSizeInBytes
        else { return nil }
        return Array(content)
    }
}
