import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `PUT /installations/{id}` with `InstallationFields`: 200, or 201 for a new installation, which is then bound to the
/// secret sent with it.
///
/// The installation belongs to the signed-in user, or to none without an access token. It is signed out when the
/// session of that token ends (`SignOut`). From then on the installation can be changed only with its secret.
struct PutInstallation: Endpoint {
    static let route = Route(
        .put, "/installations/{id}", "putInstallation",
        """
        An app says where it is and what it runs on, each time it is opened; the first time its secret is \
        kept.
        """, callers: .client,
        parameters: [
            .path("id", .uuid),
            .header(
                "Installation-Secret", .string.length(43, 43), "32 random bytes in base64url, the app's choice.",
                isRequired: true),
        ],
        body: .json(.installationFields),
        answers: [
            .answer(200, "The installation.", .json(.installation)),
            .answer(201, "A new one.", .json(.installation)),
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.claim(request, context)
        let fields = try await InstallationFields(request)
        let principal = try context.principal
        do {
            let (installation, isNew) = try await store.change(
                claim, bringsToken: fields.bringsToken, making: fields.platform
            ) { installation in
                try fields.replace(&installation)
                installation.userID = principal.userID
                installation.sessionID = principal.sessionID.flatMap { UUID(uuidString: $0) }
            }
            return .json(.init(string: installation.json.text), status: isNew ? .created : .ok)
        } catch let problem as HTTPProblem where problem.code == .installationNotFound {
            throw HTTPProblem(.invalidBody, "A new installation requires a platform.", field: "platform")
        }
    }
}

/// `GET /installations/{id}`
struct ReadInstallation: Endpoint {
    static let route = Route(
        .get, "/installations/{id}", "readInstallation", "The installation, for its app.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .header(
                "Installation-Secret", .string.length(43, 43), "32 random bytes in base64url, the app's choice.",
                isRequired: true),
        ],
        answers: [
            .answer(200, "The installation.", .json(.installation))
        ],
        errors: [404: "There is no such installation (`installation-not-found`)."])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.check(request, context)
        guard let installation = try await store.read(claim.id, in: claim.space.id) else {
            throw HTTPProblem(.installationNotFound)
        }
        return .json(installation.json.text)
    }
}

/// `PATCH /installations/{id}` with the fields to change: 200. Apps send `{"badge":0}` when they are opened. The user
/// does not change.
struct PatchInstallation: Endpoint {
    static let route = Route(
        .patch, "/installations/{id}", "patchInstallation",
        "Changes what is in the body; null takes away, attributes are merged.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .header(
                "Installation-Secret", .string.length(43, 43), "32 random bytes in base64url, the app's choice.",
                isRequired: true),
        ],
        body: .json(.installationFields),
        answers: [
            .answer(200, "The installation.", .json(.installation))
        ],
        errors: [
            404: "There is no such installation (`installation-not-found`).",
            413: "The body is too large (`payload-too-large`).",
        ])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.claim(request, context)
        let fields = try await InstallationFields(request)
        let (installation, _) = try await store.change(claim, bringsToken: fields.bringsToken) {
            try fields.merge(into: &$0)
        }
        return .json(installation.json.text)
    }
}

/// `DELETE /installations/{id}`: 204. Nothing is sent to it any more.
struct DeleteInstallation: Endpoint {
    static let route = Route(
        .delete, "/installations/{id}", "deleteInstallation", "Nothing is sent to it any more.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .header(
                "Installation-Secret", .string.length(43, 43), "32 random bytes in base64url, the app's choice.",
                isRequired: true),
        ],
        answers: [
            .answer(204, "It is gone.")
        ],
        errors: [404: "There is no such installation (`installation-not-found`)."])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.check(request, context)
        _ = try await store.delete(claim.id, in: claim.space.id)
        return Response(status: .noContent)
    }
}

/// `PUT` and `DELETE /installations/{id}/channels/{channel}`: 204. Idempotent.
struct ChangeChannel: Endpoint {
    static let route = Route(
        .put, "/installations/{id}/channels/{channel}", "joinChannel",
        "The installation gets what is sent to the channel.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .header(
                "Installation-Secret", .string.length(43, 43), "32 random bytes in base64url, the app's choice.",
                isRequired: true),
            .path("channel", .string.pattern(#"^[A-Za-z0-9._:-]{1,64}$"#)),
        ],
        answers: [
            .answer(204, "It is in it.")
        ],
        errors: [404: "There is no such installation (`installation-not-found`)."])
    static let leaveChannel = Route(
        .delete, "/installations/{id}/channels/{channel}", "leaveChannel", "It does not any more.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .header(
                "Installation-Secret", .string.length(43, 43), "32 random bytes in base64url, the app's choice.",
                isRequired: true),
            .path("channel", .string.pattern(#"^[A-Za-z0-9._:-]{1,64}$"#)),
        ],
        answers: [
            .answer(204, "It is not in it.")
        ],
        errors: [404: "There is no such installation (`installation-not-found`)."])

    let access: InstallationAccess
    let store: InstallationStore
    let isMember: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.claim(request, context)
        guard let channel = context.parameters.get("channel"), ChannelName.isOne(channel) else {
            throw HTTPProblem(.invalidName, ChannelName.sentence)
        }
        _ = try await store.change(claim, bringsToken: false) { installation in
            var channels = Set(installation.channels)
            if isMember { channels.insert(channel) } else { channels.remove(channel) }
            guard channels.count <= InstallationFields.maximumChannels else {
                throw HTTPProblem(
                    .limitExceeded, "An installation may be in at most \(InstallationFields.maximumChannels) channels.")
            }
            installation.channels = channels.sorted()
        }
        return Response(status: .noContent)
    }
}
