import AuthService
import MartletHTTP

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(AuthService.self)
    }
}
