import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// How far a follower has come in a space's change log, as text that it keeps and sends back.
///
/// Base64url of `1|epoch|…`. `epoch` tells one log from another: transaction numbers of one database mean nothing in the next.
struct ChangeCursor: Sendable, Hashable {
    static let maximumSizeInBytes = 6 << 10

    enum Position: Sendable, Hashable {
        /// Has everything that the snapshot sees.
        case at(Snapshot)
        /// Has everything that `from` sees, and of what is new in `to` what stands up to `seq` in the log.
        case within(from: Snapshot, to: Snapshot, seq: Int64)
        /// Has the objects up to the id `last`, of a walk through all that began at the snapshot.
        case walking(since: Snapshot, last: String)
    }

    let epoch: String
    let position: Position
    /// The follower came to this range of the log by a walk, so that it may have seen what came and went in it.
    let isWalked: Bool

    init(epoch: String, position: Position, isWalked: Bool = false) {
        self.epoch = epoch
        self.position = position
        self.isWalked = isWalked
    }

    /// - Throws: `invalid-parameter`.
    init(_ text: some StringProtocol, parameter: String = "since") throws {
        let refusal = HTTPProblem(.invalidParameter, "This is not a cursor.", field: parameter)
        guard text.utf8.count <= Self.maximumSizeInBytes, let bytes = Base64URL.decode(text[...]),
            let parts = String(bytes: bytes, encoding: .utf8)?.split(separator: "|", omittingEmptySubsequences: false),
            parts.count >= 4, parts[0] == "1", !parts[1].isEmpty
        else { throw refusal }
        epoch = String(parts[1])
        isWalked = parts[2] == "A" || parts[2] == "B"
        switch (parts[2].lowercased(), parts.count) {
        case ("a", 4):
            guard let snapshot = Snapshot(parts[3]) else { throw refusal }
            position = .at(snapshot)
        case ("b", 6):
            guard let from = Snapshot(parts[3]), let to = Snapshot(parts[4]), let seq = Int64(parts[5]), seq >= 0 else { throw refusal }
            position = .within(from: from, to: to, seq: seq)
        case ("w", 5):
            guard let snapshot = Snapshot(parts[3]), let last = try? ObjectID(String(parts[4])) else { throw refusal }
            position = .walking(since: snapshot, last: last.text)
        default: throw refusal
        }
    }

    var text: String {
        let body =
            switch position {
            case .at(let snapshot): "\(isWalked ? "A" : "a")|\(snapshot.text)"
            case .within(let from, let to, let seq): "\(isWalked ? "B" : "b")|\(from.text)|\(to.text)|\(seq)"
            case .walking(let since, let last): "w|\(since.text)|\(last)"
            }
        return Base64URL.encode(Array("1|\(epoch)|\(body)".utf8))
    }

    /// The snapshot whose changes the follower may not have yet.
    var start: Snapshot {
        switch position {
        case .at(let snapshot), .within(let snapshot, _, _), .walking(let snapshot, _): snapshot
        }
    }
}
