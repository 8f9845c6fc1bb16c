public import Foundation

extension Date {
    /// A time as RFC 3339 writes it, with or without fractions of a second; nil for what is none.
    public init?(rfc3339 text: String) {
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? Date.ISO8601FormatStyle().parse(text)) ?? (try? fractional.parse(text)) else { return nil }
        self = date
    }
}
