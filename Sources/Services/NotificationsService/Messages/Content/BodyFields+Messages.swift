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
            throw ServiceError(.invalidBody, "This must have 1 to \(limitInBytes) bytes.", field: name)
        }
        return text
    }

    /// Reads one of an enumeration's words.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws -> Choice?
    where Choice.RawValue == String {
        guard let text = try string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw ServiceError(
                .invalidBody, "This must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")).",
                field: name)
        }
        return choice
    }

    /// Reads a number from 0 to 1.
    func fraction(_ name: String) throws -> Double? {
        guard let value = self[name], value != .null else { return nil }
        guard case .number(let literal) = value, let number = Double(literal), (0...1).contains(number) else {
            throw ServiceError(.invalidBody, "This must be a number from 0 to 1.", field: name)
        }
        return number
    }

    /// Reads a member that must be an object later on; nil when missing or null.
    func object(_ name: String) -> JSONValue? { self[name].flatMap { $0 == .null ? nil : $0 } }
}
