import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `GET /admin/auth/providers`: by which providers staff may sign in, for the page on which they do; nobody need be
/// signed in.
struct ListStaffSignInProviders: Endpoint {
    static let route = Route(
        .get, "/admin/auth/providers", "listStaffSignInProviders", "By which providers staff may sign in.",
        callers: .staffSigningIn,
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "name": .string
                                    ], required: ["name"])),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "Not found."])

    let providers: IdentityProviderStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.checkStaffRoute()
        return try .list(try await providers.list(in: .staff).map { ["name": $0.name] })
    }
}

/// `GET /admin/identity-providers`: where staff sign in from elsewhere, without secrets; needs `staff` read.
struct ListStaffProviders: Endpoint {
    static let route = Route(
        .get, "/admin/identity-providers", "listStaffProviders", "Where staff sign in from elsewhere, without secrets.",
        callers: .staff(.read, .staff),
        details: "Needs `staff` read.",
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .identityProvider),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "Not found."])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.staff(may: .read, .staff)
        return try .list(try await federation.providers.list(in: .staff).map { ShownProvider($0, federation.codeFlow) })
    }
}

/// `PUT /admin/identity-providers/{name}`, for administrators; 200 with the provider. What is left out is as it is by
/// default, but the secret, which stays.
struct SaveStaffProvider: Endpoint {
    static let route = Route(
        .put, "/admin/identity-providers/{name}", "saveStaffProvider", "Sets a provider up.", callers: .signedInStaff,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#))
        ],
        details: "For administrators. A secret that is left out stays.",
        body: .json(
            .object(
                [
                    "kind": .oneOf("oidc", "google"),
                    "clientIDs": .array(of: .string).items(1, 20),
                    "clientSecret": .string.format("password"),
                    "issuer": .uri,
                    "scopes": .array(of: .string).maxItems(20),
                    "redirectURLs": .array(of: .uri).maxItems(20),
                    "trustsEmail": .boolean.defaulting(to: true),
                    "allowedDomains": .array(of: .string).maxItems(20).described(
                        "Whose verified addresses make a member without rights."),
                    "endpoints": .map(of: .string),
                ], required: ["kind", "clientIDs"]
            ).closed),
        answers: [
            .answer(200, "Done.", .json(.identityProvider))
        ],
        errors: [404: "Not found."])

    private static let fields: Set<String> = [
        "kind", "clientIDs", "clientSecret", "issuer", "scopes", "redirectURLs", "trustsEmail", "endpoints",
        "allowedDomains",
    ]
    private static let maximumDomains = 20

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.administrator, request)
        let name = try context.newProviderName
        let fields = try await BodyFields(request, Self.fields)
        let form = SaveProvider(federation: federation)
        var provider = try await form.provider(fields, in: .staff)
        // The others give no id token for a code, or do not say whether an address is verified.
        guard provider.kind == .oidc || provider.kind == .google else {
            throw HTTPProblem(.invalidBody, "It is oidc or google.", field: "kind")
        }
        provider.allowedDomains = try domains(fields)
        // Anybody who once read a company's mail can have a Google account with the address, which stays verified when
        // they have left.
        guard provider.allowedDomains == nil || !Self.isGoogle(provider) else {
            throw HTTPProblem(
                .invalidBody, "Google vouches for addresses, not for who belongs to a domain: link members one by one.",
                field: "allowedDomains")
        }
        guard
            let saved = try await federation.providers.save(
                name, provider, secret: try form.secret(fields, provider.kind), by: actor)
        else {
            throw HTTPProblem(.limitExceeded, "Staff have at most \(IdentityProviderStore.maximumPerSpace) providers.")
        }
        return try .encoding(ShownProvider(saved, federation.codeFlow))
    }

    private static func isGoogle(_ provider: IdentityProvider) -> Bool {
        provider.kind == .google || provider.issuer == IdentityProvider.Kind.google.defaultIssuer
    }

    private func domains(_ fields: BodyFields) throws -> [String]? {
        let domains = try fields.strings("allowedDomains", upTo: Self.maximumDomains)?.map { $0.lowercased() }
        for domain in domains ?? [] where (try? EmailAddress("a@" + domain)) == nil {
            throw HTTPProblem(
                .invalidBody, "Each is the part of an e-mail address behind the @.", field: "allowedDomains")
        }
        return domains?.isEmpty == true ? nil : domains
    }
}

/// `DELETE /admin/identity-providers/{name}`, for administrators; 204. Staff stay linked, and cannot sign in by it
/// until it is set up again.
struct DeleteStaffProvider: Endpoint {
    static let route = Route(
        .delete, "/admin/identity-providers/{name}", "deleteStaffProvider", "Takes a provider away.",
        callers: .signedInStaff,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#))
        ],
        details: """
            For administrators. Staff stay linked, and cannot sign in by it until it is set up again.
            """,
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found."])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.administrator, request)
        guard try await federation.providers.delete(context.parameters.get("name") ?? "", by: actor) else {
            throw HTTPProblem(.notFound, "There is no such provider.")
        }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// - Throws: `forbidden` for all others; as `signedInStaff`.
    fileprivate var administrator: StaffGrant {
        get throws {
            let staff = try signedInStaff
            guard staff.isAdministrator else { throw HTTPProblem(.forbidden, "This is for administrators.") }
            return staff
        }
    }
}
