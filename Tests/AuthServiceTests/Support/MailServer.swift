import Foundation
import MartletCore
import MartletMail
import Testing

@testable import AuthService

/// One mail server for all tests of this process, made of PyPI's aiosmtpd; it ends when its standard input does. Tests tell their mail apart by
/// its recipient.
actor MailServer {
    /// A Python with the packages of `deploy/test-tools.txt`, which `deploy/test` names.
    static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap { $0.isEmpty ? nil : $0 }
    static var isThere: Bool { python != nil }
    static let shared = MailServer()

    private struct Running: Sendable {
        var folder: URL
        var ports: [String: Int]
    }

    private var start: Task<Running, any Error>?
    private var process: Process?
    private var input: Pipe?

    private func running() async throws -> Running {
        if let start { return try await start.value }
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-mail-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(filePath: try #require(Self.python))
        process.arguments = [URL(filePath: #filePath).deletingLastPathComponent().appending(path: "mail_server.py").path, folder.path]
        process.standardInput = input
        try process.run()
        (self.process, self.input) = (process, input)
        let start = Task {
            let file = folder.appending(path: "ports.json")
            for _ in 0..<1_200 where !FileManager.default.fileExists(atPath: file.path) { try await Task.sleep(for: .milliseconds(50)) }
            return Running(folder: folder, ports: try JSONDecoder().decode([String: Int].self, from: Data(contentsOf: file)))
        }
        self.start = start
        return try await start.value
    }

    func server(_ security: SMTPServer.Security = .off, password: String = "a secret of mail") async throws -> SMTPServer {
        let running = try await running()
        let needsLogIn = security != .off
        return SMTPServer(
            host: "127.0.0.1", port: try #require(running.ports[security.rawValue]), security: security, user: needsLogIn ? "shop" : nil,
            password: needsLogIn ? Secret(password) : nil, certificatesFile: running.folder.appending(path: "certificate.pem").path,
            isPrivateAddressAllowed: true)
    }

    func settings() async throws -> MailSettings {
        MailSettings(server: try await server(), from: try MailAddress(address: "no-reply@example.org"), arePrivateServersAllowed: true)
    }

    /// What has come for a recipient until now.
    func mails(to address: String) async throws -> [Mail] {
        let file = try await running().folder.appending(path: address)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
        return try text.split(separator: "\n").map { try JSONDecoder().decode(Mail.self, from: Data($0.utf8)) }
    }

    /// The mail number `number` to the recipient, waited for.
    func mail(to address: String, number: Int = 1) async throws -> Mail {
        for _ in 0..<1_200 {
            let mails = try await mails(to: address)
            if mails.count >= number { return mails[number - 1] }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw MissingMail(address: address)
    }
}

struct MissingMail: Error {
    let address: String
}

/// A message as Python's own parser reads it.
struct Mail: Decodable, Sendable {
    var port: String
    var user: String?
    var from: String
    var to: [String]
    var headers: [String: String]
    var headerCount: Int
    var defects: [String]
    var text: String
    var html: String?
    var longestLine: Int
    var isASCII: Bool

    var subject: String { headers["subject"] ?? "" }

    /// The code on a line of its own.
    var code: String {
        get throws { try #require(text.split(separator: "\n").first { $0.count == 8 && $0.allSatisfy(\.isNumber) }.map(String.init), "\(text)") }
    }

    /// The token of the link.
    var token: String {
        get throws { try #require(text.firstMatch(of: /token=(mt_[A-Za-z0-9_-]{43})/).map { String($0.1) }, "\(text)") }
    }
}
