import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /notifications/messages/{id}/pause`, `…/resume`, `…/cancel` and `DELETE /notifications/messages/{id}` (the
/// same as cancel): 200 with the message.
///
/// Does not affect deliveries already sent. A finished message cannot be changed: `conflict`.
struct ChangeMessage: Endpoint {
    static let route = Route(
        .delete, "/notifications/messages/{id}", "deleteMessage", "Cancels a message, as `cancel` does.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .path("id", .uuid, "The message's.")
        ],
        answers: [
            .answer(200, "The message.", .json(.pushMessage))
        ],
        errors: [404: "There is no such message (`message-not-found`).", 409: "The message is finished (`conflict`)."])
    static let cancelMessage = Route(
        .post, "/notifications/messages/{id}/cancel", "cancelMessage",
        "Cancels a message: what is queued does not leave.", callers: .manager(.delete, .notifications),
        parameters: [
            .path("id", .uuid, "The message's.")
        ],
        answers: [
            .answer(200, "The message.", .json(.pushMessage))
        ],
        errors: [404: "There is no such message (`message-not-found`).", 409: "The message is finished (`conflict`)."])
    static let pauseMessage = Route(
        .post, "/notifications/messages/{id}/pause", "pauseMessage", "Holds a message up.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("id", .uuid, "The message's.")
        ],
        answers: [
            .answer(200, "The message.", .json(.pushMessage))
        ],
        errors: [404: "There is no such message (`message-not-found`).", 409: "The message is finished (`conflict`)."])
    static let resumeMessage = Route(
        .post, "/notifications/messages/{id}/resume", "resumeMessage", "Lets a message go on.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("id", .uuid, "The message's.")
        ],
        answers: [
            .answer(200, "The message.", .json(.pushMessage))
        ],
        errors: [404: "There is no such message (`message-not-found`).", 409: "The message is finished (`conflict`)."])

    enum Act: Sendable {
        case pause, resume, cancel
    }

    let act: Act
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: act == .cancel ? .delete : .update, messages.spaces)
        let id = try context.messageID
        let message =
            switch act {
            case .pause: try await messages.store.pause(id, in: space)
            case .resume: try await messages.store.resume(id, in: space)
            case .cancel: try await messages.store.cancel(id, in: space)
            }
        return .json(JSONValue.object(message.json).text)
    }
}
