import HTTPTypes
import MartletCore
import MartletHTTP

/// The OpenAPI 3.1 description of all calls that clients can make through the gateway.
struct OpenAPIDocument {
    private let routes: [ServiceRoute]
    private let gateway: GatewayRoutes
    private var components = SchemaComponents()

    init(routes: [ServiceRoute], gateway: GatewayRoutes) {
        self.routes = routes.filter(\.route.isDocumented)
        self.gateway = gateway
    }

    /// The document as YAML.
    mutating func yaml() -> String {
        "# Generated from the routes' declarations by `martlet openapi`. Do not edit.\n" + YAMLText.text(of: document())
    }

    private mutating func document() -> Schema.Literal {
        let paths = paths()
        return .object([
            .init("openapi", "3.1.0"),
            .init("info", OpenAPIParts.info),
            .init(
                "servers",
                [["url": "http://127.0.0.1:8080", "description": "A server started by deploy/up."]]),
            .init(
                "tags",
                .array(
                    RouteSection.all.map { ["name": .string($0.name), "description": .string($0.text)] })),
            .init("paths", paths),
            .init(
                "components",
                .object([
                    .init("securitySchemes", OpenAPIParts.securitySchemes),
                    .init("parameters", OpenAPIParts.parameters),
                    .init("responses", OpenAPIParts.responses),
                    .init("headers", OpenAPIParts.headers),
                    .init("schemas", components.all()),
                ])),
        ])
    }

    /// The paths, ordered by section and then by declaration.
    private mutating func paths() -> Schema.Literal {
        var order: [String] = []
        var operations: [String: [Schema.Literal.Member]] = [:]
        for section in RouteSection.all {
            for route in routes where route.section == section {
                for (index, address) in gateway.addresses(of: route).enumerated() {
                    let path = address.path.replacing("**", with: "{path}")
                    if operations[path] == nil { order.append(path) }
                    operations[path, default: []].append(
                        .init(
                            route.route.method.rawValue.lowercased(),
                            operation(route, address, isRepeated: index > 0)))
                }
            }
        }
        return .object(order.map { .init($0, .object(operations[$0] ?? [])) })
    }

    private mutating func operation(_ entry: ServiceRoute, _ address: PublicAddress, isRepeated: Bool)
        -> Schema.Literal
    {
        let route = entry.route
        let documentation = route.documentation()
        var members: [Schema.Literal.Member] = [
            .init("tags", [.string(entry.section.name)]),
            .init("operationId", .string(route.operation + (isRepeated ? "ForStaff" : ""))),
            .init("summary", .string(route.summary)),
        ]
        let details = [documentation.details, OpenAPIParts.callers(route.callers)].compactMap(\.self)
        if !details.isEmpty { members.append(.init("description", .string(details.joined(separator: "\n\n")))) }
        members.append(.init("security", OpenAPIParts.security(route.callers, address.entry)))
        let parameters = parameters(of: route, at: address)
        if !parameters.isEmpty { members.append(.init("parameters", .array(parameters))) }
        if let body = documentation.body { members.append(.init("requestBody", requestBody(body))) }
        members.append(.init("responses", responses(of: route, documentation, at: address)))
        return .object(members)
    }

    private mutating func parameters(of route: Route, at address: PublicAddress) -> [Schema.Literal] {
        var list: [Schema.Literal] = []
        for part in address.path.split(separator: "/") where part == "**" || part.hasPrefix("{") {
            let name = part == "**" ? "path" : String(part.dropFirst().dropLast())
            if let shared = OpenAPIParts.sharedParameter(name, in: address.path) {
                list.append(shared)
            } else {
                let declared = route.parameters.first { $0.place == .path && $0.name == name }
                list.append(parameter(declared ?? .path(name)))
            }
        }
        if address.entry.acceptsEnvironment {
            list.append(["$ref": "#/components/parameters/environment"])
        }
        return list + route.parameters.filter { $0.place != .path }.map { parameter($0) }
    }

    private mutating func parameter(_ parameter: RouteParameter) -> Schema.Literal {
        var members: [Schema.Literal.Member] = [
            .init("name", .string(parameter.name)), .init("in", .string(parameter.place.rawValue)),
        ]
        if parameter.isRequired { members.append(.init("required", true)) }
        if let text = parameter.text { members.append(.init("description", .string(text))) }
        members.append(.init("schema", components.literal(of: parameter.schema)))
        return .object(members)
    }

    private mutating func requestBody(_ body: RouteBody) -> Schema.Literal {
        var members: [Schema.Literal.Member] = []
        if let text = body.text { members.append(.init("description", .string(text))) }
        if body.isRequired { members.append(.init("required", true)) }
        members.append(.init("content", content(body.contents)))
        return .object(members)
    }

    private mutating func content(_ contents: [RouteContent]) -> Schema.Literal {
        .object(
            contents.map { content in
                .init(
                    content.type, content.schema.map { ["schema": components.literal(of: $0)] } ?? .object([]))
            })
    }

    /// The declared answers and errors, and those that all calls of this kind have in common.
    private mutating func responses(
        of route: Route, _ documentation: Route.Documentation, at address: PublicAddress
    ) -> Schema.Literal {
        var all: [(status: Int, response: Schema.Literal)] = []
        for answer in documentation.answers {
            var members: [Schema.Literal.Member] = [.init("description", .string(answer.text))]
            if !answer.headers.isEmpty {
                let headers = answer.headers.map {
                    Schema.Literal.Member($0.name, ["schema": components.literal(of: $0.schema)])
                }
                members.append(.init("headers", .object(headers)))
            }
            if !answer.contents.isEmpty { members.append(.init("content", content(answer.contents))) }
            all.append((answer.status, .object(members)))
        }
        for error in documentation.errors {
            all.append((error.status, OpenAPIParts.error(error.meaning, isProblem: route.refusal == nil)))
        }
        for (status, name) in OpenAPIParts.commonErrors(of: route, at: address.entry)
        where !all.contains(where: { $0.status == status }) {
            all.append((status, ["$ref": .string("#/components/responses/\(name)")]))
        }
        let known = all.sorted { $0.status < $1.status }.map { Schema.Literal.Member(String($0.status), $0.response) }
        let other = route.refusal == nil ? "Problem" : "PlainProblem"
        return .object(known + [.init("default", ["$ref": .string("#/components/responses/\(other)")])])
    }
}

extension GatewayRoutes.Entry {
    /// Whether `X-Martlet-Environment` chooses the environment.
    var acceptsEnvironment: Bool { path.hasPrefix("/api/{appKey}/") || path.hasPrefix("/admin/apps/{app}/") }
}

/// The named schemas that a document refers to.
struct SchemaComponents {
    private var texts: [String: Schema.Literal] = [:]

    /// The schema as JSON, with references to named ones.
    mutating func literal(of schema: Schema) -> Schema.Literal {
        var members: [Schema.Literal.Member] = []
        if let component = schema.component {
            add(component)
            members.append(.init("$ref", .string("#/components/schemas/\(component.name)")))
        }
        for (name, value) in schema.keywords { members.append(.init(name, literal(of: value))) }
        return .object(members)
    }

    private mutating func literal(of value: Schema.Value) -> Schema.Literal {
        switch value {
        case .literal(let literal): literal
        case .schema(let schema): literal(of: schema)
        case .schemas(let schemas): .array(schemas.map { literal(of: $0) })
        case .properties(let properties):
            .object(properties.map { .init($0.name, literal(of: $0.schema)) })
        }
    }

    private mutating func add(_ component: Schema.Component) {
        guard texts[component.name] == nil else { return }
        // Added before its content is converted, because the content may refer to it.
        texts[component.name] = .object([])
        texts[component.name] = literal(of: component.schema())
    }

    mutating func all() -> Schema.Literal {
        add(Schema.problem.component!)
        return .object(texts.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
    }
}
