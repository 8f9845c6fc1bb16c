import Foundation
import MartletCore

/// Parses the times that clients send: ISO 8601, with or without fractions of a second and an offset. A time without an
/// offset is UTC. Also accepts the description of Foundation's `Date` (`2017-03-05 20:21:39 +0000`) and a trailing
/// `GMT` or `UTC`.
///
/// Written by hand because every event has a time, and parsing it with Foundation would take longer than everything
/// else that is done with the event.
enum EventTime {
    /// The date, or nil if the text is not a valid time.
    static func date(_ text: String) -> Date? {
        var reader = Reader(bytes: Array(text.utf8))
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), let calendarDay = CalendarDay(year: year, month: month, day: day)
        else { return nil }
        let midnight = Double(calendarDay.daysSince1970) * 86_400
        guard !reader.isAtEnd else { return Date(timeIntervalSince1970: midnight) }
        guard reader.take("T") || reader.take(" ") || reader.take("t"), let hour = reader.digits(2), hour < 24,
            reader.take(":"),
            let minute = reader.digits(2), minute < 60
        else { return nil }
        var seconds = 0.0
        if reader.take(":") {
            guard let whole = reader.digits(2), whole <= 60 else { return nil }
            seconds = Double(whole)
            if reader.take(".") || reader.take(",") {
                guard let fraction = reader.fraction() else { return nil }
                seconds += fraction
            }
        }
        guard let offset = reader.offsetInMinutes(), reader.isAtEnd else { return nil }
        return Date(timeIntervalSince1970: midnight + Double(hour * 3_600 + (minute - offset) * 60) + seconds)
    }

    private struct Reader {
        let bytes: [UInt8]
        private var position = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { position == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func digits(_ count: Int) -> Int? {
            guard position + count <= bytes.count else { return nil }
            var number = 0
            for byte in bytes[position..<position + count] {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + Int(byte - 0x30)
            }
            position += count
            return number
        }

        /// One or more digits. Digits after the ninth are ignored.
        mutating func fraction() -> Double? {
            let start = position
            var (number, scale) = (0, 1.0)
            while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
                if position - start < 9 {
                    number = number * 10 + Int(bytes[position] - 0x30)
                    scale *= 10
                }
                position += 1
            }
            return position > start ? Double(number) / scale : nil
        }

        mutating func offsetInMinutes() -> Int? {
            if isAtEnd || take("Z") || take("z") { return 0 }
            _ = take(" ")
            if bytes[position...].elementsEqual("GMT".utf8) || bytes[position...].elementsEqual("UTC".utf8) {
                position = bytes.count
                return 0
            }
            let sign = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let hours = digits(2), hours < 24 else { return nil }
            guard !isAtEnd else { return sign * hours * 60 }
            _ = take(":")
            guard let minutes = digits(2), minutes < 60 else { return nil }
            return sign * (hours * 60 + minutes)
        }
    }
}
