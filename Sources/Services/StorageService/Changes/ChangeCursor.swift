import Foundation
import MartletAPI
import MartletCore

/// A follower's position in a space's change log, as text that the follower keeps and sends back.
///
/// Martlet's own processes keep base64url of `1|<body>`; clients get a signed form of the body from `CursorSigner`. The
/// body starts with `epoch|`. The epoch identifies the log, because transaction numbers of one database mean nothing in
/// another.
struct ChangeCursor: Sendable, Hashable {
    static let maximumSizeInBytes = 6 << 10

    enum Position: Sendable, Hashable {
        /// The follower has everything that the snapshot sees.
        case at(Snapshot)
        /// The follower has everything that `from` sees, plus the changes that only `to` sees, up to the log number
        /// `seq`.
        case within(from: Snapshot, to: Snapshot, seq: Int64)
        /// The follower is walking through all objects by id. The walk began at the snapshot and has reached the id
        /// `last`.
        case walking(since: Snapshot, last: String)
    }

    let epoch: String
    let position: Position
    /// Whether the follower reads this range of the log right after a walk. The walk may have shown it objects that
    /// were both created and deleted within the range.
    let isWalked: Bool

    init(epoch: String, position: Position, isWalked: Bool = false) {
        self.epoch = epoch
        self.position = position
        self.isWalked = isWalked
    }

    /// Parses the cursor of one of Martlet's own processes.
    ///
    /// - Throws: `invalid-parameter`.
    init(_ text: some StringProtocol, parameter: String) throws {
        guard text.utf8.count <= Self.maximumSizeInBytes, let bytes = Base64URL.decode(text[...]),
            let text = String(bytes: bytes, encoding: .utf8), text.hasPrefix("1|"),
            let cursor = Self(body: text.dropFirst(2))
        else { throw ServiceError(.invalidParameter, "Expected a cursor from an earlier answer.", field: parameter) }
        self = cursor
    }

    var text: String { Base64URL.encode(Array("1|\(body)".utf8)) }

    /// Nil if the text is not one that `body` returns.
    init?(body: Substring) {
        let parts = body.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count >= 3, !parts[0].isEmpty else { return nil }
        epoch = String(parts[0])
        isWalked = parts[1] == "A" || parts[1] == "B"
        switch (parts[1].lowercased(), parts.count) {
        case ("a", 3):
            guard let snapshot = Snapshot(parts[2]) else { return nil }
            position = .at(snapshot)
        case ("b", 5):
            guard let from = Snapshot(parts[2]), let to = Snapshot(parts[3]), let seq = Int64(parts[4]), seq >= 0 else {
                return nil
            }
            position = .within(from: from, to: to, seq: seq)
        case ("w", 4):
            guard let snapshot = Snapshot(parts[2]), let last = try? ObjectID(String(parts[3])) else { return nil }
            position = .walking(since: snapshot, last: last.text)
        default: return nil
        }
    }

    var body: String {
        switch position {
        case .at(let snapshot): "\(epoch)|\(isWalked ? "A" : "a")|\(snapshot.text)"
        case .within(let from, let to, let seq): "\(epoch)|\(isWalked ? "B" : "b")|\(from.text)|\(to.text)|\(seq)"
        case .walking(let since, let last): "\(epoch)|w|\(since.text)|\(last)"
        }
    }

    /// The follower has all changes up to this snapshot, and may lack later ones.
    var start: Snapshot {
        switch position {
        case .at(let snapshot), .within(let snapshot, _, _), .walking(let snapshot, _): snapshot
        }
    }
}
