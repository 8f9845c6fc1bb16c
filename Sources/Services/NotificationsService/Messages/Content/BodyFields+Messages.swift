import MartletAPI
import MartletCore
import MartletHTTP

extension BodyFields {
    /// Reads a text of 1 to `limitInBytes` bytes; nil when missing or null.
    ///
    /// - Throws: `invalid-body`.
    func text(_ name: String, upTo limitInBytes: Int) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard (1...limitInBytes).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ServiceError(
                .invalidBody, "Expected 1 to \(limitInBytes) bytes without NUL, found \(text.utf8.count).", field: name)
        }
        return text
    }

    /// Reads a number from 0 to 1.
    func fraction(_ name: String) throws -> Double? {
        guard let value = self[name], value != .null else { return nil }
        guard case .number(let literal) = value, let number = Double(literal), (0...1).contains(number) else {
            throw ServiceError(.invalidBody, "Expected a number from 0 to 1, found \(value.phrase).", field: name)
        }
        return number
    }

    /// Reads a member that should be an object, which the caller checks; nil when missing or null.
    func object(_ name: String) -> JSONValue? { self[name].flatMap { $0 == .null ? nil : $0 } }
}
