import Foundation
import MartletCore
public import MartletMail

/// One mail server for all tests of this process, based on aiosmtpd from PyPI. It exits when its standard input closes.
/// Tests identify their mail by its recipient.
public actor MailServer {
    /// A Python interpreter with the packages from `deploy/test-tools.txt`, set by `deploy/test`.
    public static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap {
        $0.isEmpty ? nil : $0
    }
    public static var isAvailable: Bool { python != nil }
    public static let shared = MailServer()

    private struct Running: Sendable {
        var folder: URL
        var ports: [String: Int]
    }

    private var start: Task<Running, any Error>?
    private var process: Process?
    private var input: Pipe?

    private func running() async throws -> Running {
        if let start { return try await start.value }
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "martlet-mail-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(filePath: Self.python ?? "")
        process.arguments = [
            URL(filePath: #filePath).deletingLastPathComponent().appending(path: "mail_server.py").path, folder.path,
        ]
        process.standardInput = input
        try process.run()
        (self.process, self.input) = (process, input)
        let start = Task {
            let file = folder.appending(path: "ports.json")
            try await eventually("the mail server has started") { FileManager.default.fileExists(atPath: file.path) }
            return Running(
                folder: folder, ports: try JSONDecoder().decode([String: Int].self, from: Data(contentsOf: file)))
        }
        self.start = start
        return try await start.value
    }

    public func server(_ security: SMTPServer.Security = .off, password: String = "a secret of mail") async throws
        -> SMTPServer
    {
        let running = try await running()
        let needsLogIn = security != .off
        var server = SMTPServer(
            host: "127.0.0.1", port: running.ports[security.rawValue] ?? 0, security: security,
            user: needsLogIn ? "shop" : nil,
            password: needsLogIn ? Secret(password) : nil,
            certificatesFile: running.folder.appending(path: "certificate.pem").path,
            isPrivateAddressAllowed: true)
        (server.connectTimeoutInSeconds, server.timeoutInSeconds) = (60, 300)
        return server
    }

    public func settings() async throws -> MailSettings {
        MailSettings(
            server: try await server(), from: try MailAddress(address: "no-reply@example.org"),
            arePrivateServersAllowed: true)
    }

    /// The mail received for a recipient so far.
    public func mails(to address: String) async throws -> [ReceivedMail] {
        let file = try await running().folder.appending(path: address)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
        return try text.split(separator: "\n").map { try JSONDecoder().decode(ReceivedMail.self, from: Data($0.utf8)) }
    }

    /// Waits for mail number `number` to the recipient.
    public func mail(to address: String, number: Int = 1) async throws -> ReceivedMail {
        try await eventually("mail \(number) to \(address) has arrived") {
            let mails = try await mails(to: address)
            return mails.count >= number ? mails[number - 1] : nil
        }
    }
}

/// A received mail as `mail_server.py` parsed it.
public struct ReceivedMail: Decodable, Sendable {
    public var port: String
    public var user: String?
    public var from: String
    public var to: [String]
    public var headers: [String: String]
    public var headerCount: Int
    public var defects: [String]
    public var text: String
    public var html: String?
    public var longestLine: Int
    public var isASCII: Bool

    public var subject: String { headers["subject"] ?? "" }
}
