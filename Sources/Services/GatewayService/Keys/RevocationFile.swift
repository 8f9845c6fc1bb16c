import Foundation

/// The ended sessions on disk, for a start while `auth` is unavailable: `revocations.txt`.
///
/// The first line is `martlet revocations 1 <cut-off>`, followed by one line `<session> <until>` per session. Both
/// times are in seconds since 1970.
struct RevocationFile: Sendable {
    private static let heading = "martlet revocations 1 "

    private let file: PrivateFile

    init(directory: String) {
        file = PrivateFile(directory: directory, name: "revocations.txt")
    }

    enum Failure: Error {
        case unreadable
    }

    /// Nil if the file does not exist.
    ///
    /// - Throws: `Failure` if the file has another format or is incomplete.
    func load(at now: Int64) throws -> RevokedSessions? {
        guard let data = file.read() else { return nil }
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let first = lines.first.map({ String(decoding: $0, as: UTF8.self) }), first.hasPrefix(Self.heading),
            let cutOff = Int64(first.dropFirst(Self.heading.count)), cutOff >= 0, lines.count > 1,
            lines.last?.isEmpty == true
        else { throw Failure.unreadable }
        var sessions: [String: Int64] = [:]
        sessions.reserveCapacity(lines.count)
        for line in lines.dropFirst().dropLast() {
            let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, let until = Int64(String(decoding: parts[1], as: UTF8.self))
            else { throw Failure.unreadable }
            sessions[String(decoding: parts[0], as: UTF8.self)] = until
        }
        var revoked = RevokedSessions()
        revoked.add(sessions, cutOff: cutOff, at: now)
        return revoked
    }

    func save(_ revoked: RevokedSessions) throws {
        var data = Data("\(Self.heading)\(revoked.cutOff)\n".utf8)
        for (session, until) in revoked.sessions { data.append(contentsOf: "\(session) \(until)\n".utf8) }
        try file.replace(with: data)
    }
}
