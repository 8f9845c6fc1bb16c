import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// Needs no session: the sign-in page shows these names.
struct ListStaffSignInProviders: Endpoint {
    static let route = Route(
        .get, "/admin/auth/providers", "listStaffSignInProviders",
        "Lists the names of the providers that staff can sign in with.",
        callers: .staffSigningIn,
        answers: [
            .answer(
                200, "The names of the providers.",
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
        ])

    let providers: IdentityProviderStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await providers.list(in: .staff).map { ["name": $0.name] })
    }
}

struct ListStaffProviders: Endpoint {
    static let route = Route(
        .get, "/admin/identity-providers", "listStaffProviders", "Lists the identity providers of staff.",
        callers: .staff(.read, .staff),
        answers: [
            .answer(
                200, "The providers, without secrets.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .identityProvider),
                        ], required: ["count", "data"])))
        ])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .list(try await federation.providers.list(in: .staff).map { ShownProvider($0, federation.codeFlow) })
    }
}

struct SaveStaffProvider: Endpoint {
    static let route = Route(
        .put, "/admin/identity-providers/{name}", "saveStaffProvider",
        "Creates or replaces an identity provider of staff.", callers: .signedInStaff,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#))
        ], needsConfirmation: true,
        details: """
            Only administrators may make this call. Properties that are left out get their defaults, except the \
            secret, which is kept.
            """,
        body: .json(
            .object(
                [
                    "kind": .oneOf("oidc", "google", "github"),
                    "clientIDs": .array(of: .string).items(1, 20),
                    "clientSecret": .string.format("password"),
                    "issuer": .uri,
                    "scopes": .array(of: .string).maxItems(20),
                    "redirectURLs": .array(of: .uri).maxItems(20),
                    "trustsEmail": .boolean.defaulting(to: true),
                    "allowedDomains": .array(of: .string).maxItems(20).described(
                        """
                        An unknown identity with a verified address in one of these domains becomes a new member \
                        without rights.
                        """),
                    "endpoints": .map(of: .string),
                ], required: ["kind", "clientIDs"]
            ).closed),
        answers: [
            .answer(200, "The provider as stored, without its secret.", .json(.identityProvider))
        ])

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
        // Apple hides addresses, and Facebook does not state whether an address is verified.
        guard [.oidc, .google, .github].contains(provider.kind) else {
            throw ServiceError.unexpectedMember(
                "kind", expected: "oidc, google or github", found: provider.kind.rawValue)
        }
        provider.allowedDomains = try domains(fields)
        // Anyone who once had an address at a company can have an account with it at Google or GitHub. The address
        // stays verified after they have left the company.
        guard provider.allowedDomains == nil || !Self.verifiesAddressesOnly(provider) else {
            throw ServiceError(
                .invalidBody,
                "This provider verifies addresses, but not who belongs to a domain; link members one by one.",
                field: "allowedDomains")
        }
        guard
            let saved = try await federation.providers.save(
                name, provider, secret: try form.secret(fields, provider.kind), by: actor)
        else {
            throw ServiceError(
                .limitExceeded, "Staff may have at most \(IdentityProviderStore.maximumPerSpace) providers.")
        }
        return try .encoding(ShownProvider(saved, federation.codeFlow))
    }

    private static func verifiesAddressesOnly(_ provider: IdentityProvider) -> Bool {
        provider.kind != .oidc || provider.issuer == IdentityProvider.Kind.google.defaultIssuer
    }

    private func domains(_ fields: BodyFields) throws -> [String]? {
        let domains = try fields.strings("allowedDomains", upTo: Self.maximumDomains)?.map { $0.lowercased() }
        for domain in domains ?? [] where (try? EmailAddress("a@" + domain)) == nil {
            throw ServiceError(
                .invalidBody, "Expected the parts of e-mail addresses after the @.", field: "allowedDomains")
        }
        return domains?.isEmpty == true ? nil : domains
    }
}

struct DeleteStaffProvider: Endpoint {
    static let route = Route(
        .delete, "/admin/identity-providers/{name}", "deleteStaffProvider", "Deletes an identity provider of staff.",
        callers: .signedInStaff,
        parameters: [
            .path("name", .string.pattern(#"^[a-z0-9][a-z0-9-]{0,31}$"#))
        ],
        details: """
            Only administrators may make this call. Staff stay linked, but cannot sign in with the provider \
            until it is set up again.
            """,
        answers: [
            .answer(204, "The provider is deleted.")
        ],
        errors: [404: "There is no such provider (`not-found`)."])

    let federation: Federation

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let actor = try StaffActor(try context.administrator, request)
        guard try await federation.providers.delete(context.parameters.get("name") ?? "", by: actor) else {
            throw ServiceError(.notFound, "There is no provider with this name.")
        }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// - Throws: `forbidden` if the member is not an administrator, and the errors of `signedInStaff`.
    fileprivate var administrator: StaffGrant {
        get throws {
            let staff = try signedInStaff
            guard staff.isAdministrator else { throw ServiceError(.forbidden, "Only administrators may do this.") }
            return staff
        }
    }
}
