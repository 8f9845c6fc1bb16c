public import Foundation
public import Hummingbird
import MartletAPI
import MartletCore

extension Request {
    /// A whole number from the query.
    ///
    /// - Throws: `invalid-parameter`.
    public func number(_ name: Substring, default number: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let number = uri.queryParameters[name].map({ Int($0) }) ?? number, range.contains(number) else {
            throw ServiceError(
                .invalidParameter, "Expected a whole number from \(range.lowerBound) to \(range.upperBound).",
                field: String(name))
        }
        return number
    }

    /// A parameter that is `true` or `false`; false if absent.
    ///
    /// - Throws: `invalid-parameter`.
    public func flag(_ name: Substring) throws -> Bool {
        switch uri.queryParameters[name] {
        case nil, "false": return false
        case "true": return true
        default: throw ServiceError(.invalidParameter, "Expected true or false.", field: String(name))
        }
    }

    /// A time (RFC 3339) from the query; nil if absent.
    ///
    /// - Throws: `invalid-parameter`.
    public func time(_ name: Substring) throws -> Date? {
        guard let text = uri.queryParameters[name].map(String.init) else { return nil }
        guard let time = Date(rfc3339: text) else {
            throw ServiceError(
                .invalidParameter, "Expected a time such as 2026-11-21T08:48:59Z.", field: String(name))
        }
        return time
    }

    /// An id from the query, of a list member or of the element after which a page continues; nil if absent.
    ///
    /// - Throws: `invalid-parameter`.
    public func id(_ name: Substring) throws -> UUID? {
        guard let text = uri.queryParameters[name].map(String.init) else { return nil }
        guard let id = UUID(uuidString: text) else {
            throw ServiceError(
                .invalidParameter, "Expected an id (a UUID) from this list's answers.", field: String(name))
        }
        return id
    }
}
