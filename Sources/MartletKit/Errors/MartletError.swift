public import Foundation

/// Why a call failed: what the server answered, or what went wrong on the device.
///
/// Compare ``code``; it is stable. ``message`` is for developers, not for users.
///
/// ```swift
/// do {
///     try await martlet.storage.save(event)
/// } catch let error as MartletError where error.code == .preconditionFailed {
///     // Somebody else changed the event in the meantime.
/// }
/// ```
///
/// A cancelled task throws `CancellationError`, as everywhere.
public struct MartletError: Error, Sendable {
    /// An error in one of several items of a request.
    public struct Row: Sendable, Hashable {
        /// The item's index, from 0.
        public let row: Int
        public let field: String?
        public let reason: String
    }

    public let code: Code
    /// A sentence for developers.
    public let message: String
    /// The HTTP status; nil if the error arose on the device.
    public let status: Int?
    /// The invalid field, parameter or part of the path.
    public let field: String?
    /// The invalid items of a request with several.
    public let rows: [Row]
    /// The request's id in the server's log.
    public let requestID: String?
    /// How long to wait before the next attempt, in seconds, if the server said so.
    public let retryAfter: TimeInterval?
    /// What caused the error on the device, for example a `URLError`.
    public let underlyingError: (any Error)?

    public init(
        _ code: Code, _ message: String, status: Int? = nil, field: String? = nil, rows: [Row] = [],
        requestID: String? = nil, retryAfter: TimeInterval? = nil, underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.field = field
        self.rows = rows
        self.requestID = requestID
        self.retryAfter = retryAfter
        self.underlyingError = underlyingError
    }

    /// Whether the server could not be reached or did not answer. The same call may succeed later.
    public var isConnectionFailure: Bool { [.notConnected, .timedOut, .connectionLost].contains(code) }

    /// Whether the server answered that the thing asked for does not exist, or may not be seen.
    public var isNotFound: Bool { status == 404 }
}

extension MartletError: LocalizedError, CustomStringConvertible {
    public var errorDescription: String? { description }

    public var description: String {
        var text = "\(code.rawValue): \(message)"
        if let field { text += " (\(field))" }
        if let requestID { text += " [request \(requestID)]" }
        return text
    }
}

extension MartletError {
    /// Names the type and the path in it.
    init(decoding type: Any.Type, _ error: DecodingError) {
        let context: DecodingError.Context
        var path: [any CodingKey] = []
        switch error {
        case .keyNotFound(let key, let found): (context, path) = (found, found.codingPath + [key])
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            (context, path) = (found, found.codingPath)
        @unknown default: context = .init(codingPath: [], debugDescription: "\(error)")
        }
        let place = path.map(\.stringValue).joined(separator: ".")
        self.init(
            .undecodable, "Could not read \(type)\(place.isEmpty ? "" : " at \(place)"): \(context.debugDescription).",
            field: place.isEmpty ? nil : place, underlyingError: error)
    }
}
