import Foundation

/// The connection data of a running server: `.martlet/connection.json`, mode 600.
struct Connection: Codable, Sendable {
    /// Public address, such as `http://127.0.0.1:8080`.
    var url: String
    var appId: String
    var appNumber: Int
    var appKey: String
    var secret: String
    var masterKey: String
    var testAppKey: String
    var ingestKey: String
    var evaluationKey: String
    /// The issuer for other applications in which users of the first app sign in (OpenID Connect Discovery 1.0); nil in
    /// files of older versions.
    var oidcIssuer: String?
    /// The DSN for Sentry clients of the first app (https://develop.sentry.dev/sdk/overview/); nil in files of older
    /// versions.
    var sentryDSN: String?
    /// The address of the dashboard; nil if it has not been built.
    var dashboard: String?
    var staffUser: String
    var staffPassword: String
    /// Connects as superuser of the cluster.
    var databaseURL: String
    /// Process name → its address.
    var services: [String: String]
    /// Process name → its address for health and metrics.
    var internalServices: [String: String]

    static func read(from file: URL) throws -> Connection {
        try JSONDecoder().decode(Connection.self, from: Data(contentsOf: file))
    }

    func write(to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try PrivateFile.write(try encoder.encode(self) + Data("\n".utf8), to: file)
    }

    /// The text shown to the operator when the server is ready. `file` contains all keys.
    ///
    /// - Parameters:
    ///   - isOpen: Whether the first app's live data are open where no rule restricts them; nil if it is not known.
    ///   - showsPassword: False where the text is kept, such as in the system's journal.
    func announcement(file: URL, isOpen: Bool? = nil, showsPassword: Bool = true) -> String {
        let dashboard = dashboard.map {
            """
              dashboard    \($0)
              sign in as   \(staffUser)  \(showsPassword ? staffPassword : "(password: staffPassword in this file)")

            """
        }
        return """

            Martlet is ready.

              address      \(url)
              app key      \(appKey)
              secret       \(secret)
              all keys     \(file.path)
            \(dashboard ?? "")
            Try it:

              curl -H 'X-Martlet-Secret: \(secret)' \\
                   -d '{"title":"hello"}' \(url)/api/\(appKey)/storage/Notes
              curl -H 'X-Martlet-Secret: \(secret)' \\
                   -d '{"title":"hello"}' \(url)/api/\(appKey)/storage/query/Notes
            \(isOpen.map { "\n" + access(isOpen: $0, file) + "\n" } ?? "")

            """
    }

    private func access(isOpen: Bool, _ file: URL) -> String {
        guard isOpen else { return "  access       closed: clients may only do what a rule allows" }
        return """
              access       open: whoever has the secret may do what no rule restricts. Close the app before you ship it:

                  curl -X PUT -H "X-Martlet-Master-Key: $(jq -r .masterKey \(file.path))" \\
                       -d '{"access":"closed"}' \(url)/api/\(appKey)/rules/settings
            """
    }
}

/// Writes files that only their owner can ever read.
enum PrivateFile {
    static func write(_ data: Data, to file: URL) throws {
        let fresh = file.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: fresh)
        guard
            FileManager.default.createFile(atPath: fresh.path, contents: data, attributes: [.posixPermissions: 0o600]),
            rename(fresh.path, file.path) == 0
        else { throw CocoaError(.fileWriteUnknown) }
    }
}
