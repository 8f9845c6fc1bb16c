import Hummingbird
import MartletHTTP

extension AuthService {
    func addPasskeyRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "auth/passkeys/settings", ReadPasskeySettings(passkeys: passkeys))
        router.on(.put, "auth/passkeys/settings", SetPasskeySettings(passkeys: passkeys))
        router.on(.delete, "auth/passkeys/settings", RemovePasskeySettings(passkeys: passkeys))

        router.on(.post, "auth/passkeys/options", OfferPasskeySignIn(passkeys: passkeys, attempts: attempts))
        let logIn = LogInByPasskey(
            users: users, passkeys: passkeys, attempts: attempts, completion: completion, settings: mailing.settings,
            logger: logger)
        router.on(.post, "auth/passkeys/login", logIn)
        router.on(.post, "auth/passkeys/signup/options", OfferPasskeySignUp(passkeys: passkeys, attempts: attempts))
        router.on(
            .post, "auth/passkeys/signup",
            SignUpByPasskey(passkeys: passkeys, attempts: attempts, signIns: signIns, mailing: mailing))

        router.on(
            .post, "auth/me/passkeys/options",
            OfferPasskey(check: passwordCheck, secondFactor: completion.secondFactor, passkeys: passkeys))
        router.on(.get, "auth/me/passkeys", ListPasskeys(passkeys: passkeys))
        router.on(.post, "auth/me/passkeys", AddPasskey(passkeys: passkeys))
        router.on(.patch, "auth/me/passkeys/:id", RenamePasskey(passkeys: passkeys))
        router.on(
            .delete, "auth/me/passkeys/:id",
            RemovePasskey(check: passwordCheck, passkeys: passkeys, outbox: mailing.outbox))
        router.on(.delete, "auth/users/:id/passkeys", RemovePasskeys(users: users, passkeys: passkeys))
    }
}
