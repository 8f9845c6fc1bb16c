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
    enum Act: Sendable {
        case pause, resume, cancel
    }

    let act: Act
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: act == .cancel ? .delete : .update, messages.spaces)
        let id = try context.messageID
        try await request.allowNoBody()
        let message =
            switch act {
            case .pause: try await messages.store.pause(id, in: space)
            case .resume: try await messages.store.resume(id, in: space)
            case .cancel: try await messages.store.cancel(id, in: space)
            }
        return .json(JSONValue.object(message.json).text)
    }
}
