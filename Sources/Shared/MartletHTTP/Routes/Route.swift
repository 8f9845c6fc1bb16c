public import HTTPTypes
public import Hummingbird
public import MartletCore

/// The declaration of one API call: its address, callers, parameters, body, answers and errors.
///
/// `RouteTable` enforces it before the endpoint runs, in this order: caller, path, query, body. `martlet openapi`
/// generates the OpenAPI description and the reference from it.
public struct Route: Sendable {
    public let method: HTTPRequest.Method
    /// The path within the service, such as `/storage/{collection}/{id}`. `**` at the end matches any number of
    /// segments.
    public let path: String
    /// The operation id for generated clients, such as `readObject`. Unique across all services.
    public let operation: String
    public let summary: String
    public let callers: Callers
    /// Path parameters need to be listed only if there is something to say about them.
    public let parameters: [RouteParameter]
    /// Whether the endpoint checks the query itself, because an open protocol defines what other parameters and invalid
    /// values mean.
    public let checksOwnQuery: Bool
    /// Whether staff must have signed in or confirmed within the last ten minutes, because the call cannot be undone.
    public let needsConfirmation: Bool
    /// Converts a problem to the error format of another protocol. Nil if the problem has no such form.
    public let refusal: (@Sendable (ServiceError) -> Response?)?
    /// False for calls between our own processes, and for routes that always refuse.
    public let isDocumented: Bool
    public let acceptsBody: Bool
    public let documentation: @Sendable () -> Documentation

    /// The part that only the description needs. A function, so that running services do not keep it in memory.
    public struct Documentation: Sendable {
        public let details: String?
        public let body: RouteBody?
        public let answers: [RouteAnswer]
        /// The errors of this call, by status. Those that all calls have in common are added to the description.
        public let errors: [(status: Int, meaning: String)]
    }

    public init(
        _ method: HTTPRequest.Method, _ path: String, _ operation: String, _ summary: String, callers: Callers,
        parameters: [RouteParameter] = [], checksOwnQuery: Bool = false, needsConfirmation: Bool = false,
        refusal: (@Sendable (ServiceError) -> Response?)? = nil, isDocumented: Bool = true,
        details: String? = nil, body: @autoclosure @escaping @Sendable () -> RouteBody? = nil,
        answers: @autoclosure @escaping @Sendable () -> [RouteAnswer] = [],
        errors: KeyValuePairs<Int, String> = [:]
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        self.summary = summary
        self.callers = callers
        self.parameters = parameters
        self.checksOwnQuery = checksOwnQuery
        self.needsConfirmation = needsConfirmation
        self.refusal = refusal
        self.isDocumented = isDocumented && callers != .processes
        acceptsBody = body() != nil
        documentation = {
            Documentation(
                details: details, body: body(), answers: answers(),
                errors: errors.map { (status: $0.key, meaning: $0.value) }
                    + (needsConfirmation ? [(status: 403, meaning: Self.confirmation)] : []))
        }
    }

    private static let confirmation = """
        Staff must have signed in, or called `confirmStaff`, within the last ten minutes (`confirmation-required`).
        """
}

extension Route {
    /// A call between our own processes. The endpoint checks the query.
    public static func betweenProcesses(_ method: HTTPRequest.Method, _ path: String) -> Route {
        Route(
            method, path, "", "", callers: .processes, checksOwnQuery: true,
            body: method == .get ? nil : .json(.object))
    }

    /// The same call at another path.
    public func at(_ path: String, _ operation: String, _ summary: String? = nil) -> Route {
        Route(copying: self, method: method, path: path, operation: operation, summary: summary ?? self.summary)
    }

    /// The same call with another method.
    ///
    /// - Parameter takesForm: Whether the parameters come as a form in the body instead of in the query.
    public func by(
        _ method: HTTPRequest.Method, _ operation: String, _ summary: String? = nil, takesForm: Bool = false
    ) -> Route {
        let body: RouteBody? =
            takesForm ? .contents(.type("application/x-www-form-urlencoded", .object), isRequired: false) : nil
        return Route(
            copying: self, method: method, path: path, operation: operation, summary: summary ?? self.summary,
            body: body)
    }

    private init(
        copying other: Route, method: HTTPRequest.Method, path: String, operation: String, summary: String,
        body: RouteBody? = nil
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        self.summary = summary
        callers = other.callers
        parameters = other.parameters
        checksOwnQuery = other.checksOwnQuery
        needsConfirmation = other.needsConfirmation
        refusal = other.refusal
        isDocumented = other.isDocumented
        acceptsBody = other.acceptsBody || body != nil
        documentation = {
            let original = other.documentation()
            return Documentation(
                details: original.details, body: original.body ?? body, answers: original.answers,
                errors: original.errors)
        }
    }
}

/// A parameter in the path, the query or a header.
public struct RouteParameter: Sendable {
    public enum Place: String, Sendable {
        case path, query, header
    }

    public let place: Place
    public let name: String
    public let schema: Schema
    public let text: String?
    public let isRequired: Bool

    public static func path(_ name: String, _ schema: Schema = .string, _ text: String? = nil) -> RouteParameter {
        RouteParameter(place: .path, name: name, schema: schema, text: text, isRequired: true)
    }

    public static func query(
        _ name: String, _ schema: Schema = .string, _ text: String? = nil, isRequired: Bool = false
    ) -> RouteParameter {
        RouteParameter(place: .query, name: name, schema: schema, text: text, isRequired: isRequired)
    }

    public static func header(
        _ name: String, _ schema: Schema = .string, _ text: String? = nil, isRequired: Bool = false
    ) -> RouteParameter {
        RouteParameter(place: .header, name: name, schema: schema, text: text, isRequired: isRequired)
    }
}

/// A content type, with the schema of its content.
public struct RouteContent: Sendable {
    public let type: String
    /// Nil if the schema is unknown.
    public let schema: Schema?

    public static func json(_ schema: Schema) -> RouteContent { RouteContent(type: "application/json", schema: schema) }

    public static func type(_ type: String, _ schema: Schema? = nil) -> RouteContent {
        RouteContent(type: type, schema: schema)
    }
}

/// The body of a request.
public struct RouteBody: Sendable {
    public let contents: [RouteContent]
    public let text: String?
    public let isRequired: Bool

    /// A body in one of several content types.
    public static func contents(_ contents: RouteContent..., text: String? = nil, isRequired: Bool = true) -> RouteBody
    {
        RouteBody(contents: contents, text: text, isRequired: isRequired)
    }

    public static func json(_ schema: Schema, text: String? = nil, isRequired: Bool = true) -> RouteBody {
        contents(.json(schema), text: text, isRequired: isRequired)
    }
}

/// An answer that the endpoint declares: a success, or an error in the format of another protocol.
public struct RouteAnswer: Sendable {
    public let status: Int
    public let text: String
    public let contents: [RouteContent]
    public private(set) var headers: [(name: String, schema: Schema)] = []

    public static func answer(_ status: Int, _ text: String, _ contents: RouteContent...) -> RouteAnswer {
        RouteAnswer(status: status, text: text, contents: contents)
    }

    public func header(_ name: String, _ schema: Schema = .string) -> RouteAnswer {
        var copy = self
        copy.headers.append((name, schema))
        return copy
    }
}
