import Foundation
import MartletCore
import MartletFlagValues

/// A point in time: a number of seconds since 1970, or an RFC 3339 date or time.
struct Instant {
    let seconds: Double

    init?(_ value: FlagValue) {
        switch value {
        case .number(let number): seconds = number
        case .string(let text):
            guard let seconds = Self.seconds(in: text) else { return nil }
            self.seconds = seconds
        default: return nil
        }
    }

    /// A date without a time means midnight UTC.
    private static func seconds(in text: String) -> Double? {
        guard text.utf8.count <= 40 else { return nil }
        return Date(rfc3339: text.utf8.count == 10 ? text + "T00:00:00Z" : text)?.timeIntervalSince1970
    }
}
