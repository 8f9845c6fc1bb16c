import Foundation
import MartletCore
import NIOHPACK

/// APNs' answer to one request.
struct APNsAnswer: Sendable, Equatable {
    /// Far more than an actual answer, which has about 60 bytes.
    static let maximumBodySizeInBytes = 16 << 10

    var status: Int
    var id: String?
    var uniqueID: String?
    var retryAfter: String?
    var body: [UInt8] = []

    /// Nil if the headers are not those of an answer.
    init?(_ headers: HPACKHeaders) {
        guard let status = headers.first(name: ":status").flatMap({ Int($0) }), status >= 200 else { return nil }
        self.status = status
        id = headers.first(name: "apns-id")
        uniqueID = headers.first(name: "apns-unique-id")
        retryAfter = headers.first(name: "retry-after")
    }

    /// - Parameter sent: When the request was sent.
    func outcome(sent: Date, now: Date) -> PushOutcome {
        guard status != 200 else { return .accepted(PushReceipt(id: id, uniqueID: uniqueID)) }
        let json = try? JSONValue(parsing: body)
        let word = json?.string("reason")
        let delay = RetryAfter.duration(retryAfter, at: now)
        let reason = word.flatMap { APNsReason(rawValue: $0) }
        let timestamp = json.flatMap(Self.timestamp)
        let meaning =
            reason?.meaning(timestamp: timestamp, sent: sent, retryAfter: delay)
            ?? APNsReason.meaning(ofStatus: status, timestamp: timestamp, sent: sent, retryAfter: delay)
        return .failed(
            meaning, reason: (reason?.rawValue ?? word).map { String($0.prefix(64)) } ?? "status-\(status)",
            status: status)
    }

    /// Milliseconds since 1970.
    private static func timestamp(_ json: JSONValue) -> Date? {
        guard case .number(let literal) = json["timestamp"], let milliseconds = Double(literal), milliseconds.isFinite
        else { return nil }
        return Date(timeIntervalSince1970: milliseconds / 1_000)
    }
}
